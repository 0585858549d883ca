"""Reports of a job as files, for CI: JUnit XML and a summary in Markdown. Each is an observer of the job."""
