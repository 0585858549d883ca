def failure_text(r): return str(r.ret)
