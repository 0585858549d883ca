"""Archives: their members listed, checked, extracted and written."""
