"""For all tests: the usual signals, whatever started us, and no time limits of hypothesis, which measure the machine.

A shell without job control starts what runs in the background with SIGINT ignored, nohup does so with SIGHUP, and
children inherit that: what stops at Ctrl-C could not be tested there.
"""

import signal

from hypothesis import settings

settings.register_profile("pushsalt", deadline=None)
settings.load_profile("pushsalt")

for number, usual in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, usual)
