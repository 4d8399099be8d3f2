"""Serves a tuner to the fedfast that started this process."""

import os
import shutil
import sys
import tempfile
import threading
import time
import traceback
from concurrent import futures

import grpc

from fedfast_tuner import tuner_pb2 as pb
from fedfast_tuner import tuner_pb2_grpc, wire
from fedfast_tuner.space import check_options
from fedfast_tuner.tuner import Job

MAX_STATE = 16 << 20
COOKIE = "fedfast.tuner.v1"
HEALTHY = b"\x08\x01"  # grpc.health.v1.HealthCheckResponse with the status SERVING


class _Served:
    """An open session."""

    def __init__(self, session, seq):
        self.session, self.seq, self.lost, self.lock = session, seq, False, threading.Lock()

    def state(self, context):
        state = _answer(context, self.session.state)
        if len(state) > MAX_STATE:
            context.abort(grpc.StatusCode.OUT_OF_RANGE, f"the session's state has {len(state)} bytes; at most {MAX_STATE} are allowed")
        return state


class _Servicer(tuner_pb2_grpc.TunerServicer):
    def __init__(self, tuner):
        self.tuner, self.sessions, self.opened, self.lock = tuner, {}, 0, threading.Lock()

    def Describe(self, request, context):
        return _answer(context, lambda: wire.description(self.tuner))

    def Validate(self, request, context):
        r = wire.request(request)

        def check():
            problems = check_options(self.tuner, r.options) or self.tuner.validate(r)
            return pb.ValidateReply(problems=[pb.ValidateReply.Problem(key=key, message=message) for key, message in problems])

        return _answer(context, check)

    def Open(self, request, context):
        served = _Served(_answer(context, lambda: self.tuner.open(wire.open_request(request))), request.seq)
        with self.lock:
            self.opened += 1
            name = str(self.opened)
            self.sessions[name] = served
        return pb.OpenReply(session=name, state=served.state(context), probes=self.tuner.probes)

    def Suggest(self, request, context):
        decisions, state = self._change(request, context, lambda s: [wire.decision(d) for d in s.suggest(request.n)])
        return pb.SuggestReply(decisions=decisions, state=state)

    def Report(self, request, context):
        def tell(session):
            session.values = dict(request.values)
            return session.report(request.trial, request.round, request.score, request.failed, request.reason)

        _, state = self._change(request, context, tell)
        return pb.ReportReply(state=state)

    def PlanRound(self, request, context):
        test = request.purpose == pb.PlanRoundRequest.TEST

        def ask(session):
            session.client_keys = list(request.client_keys)
            return wire.plan(session.plan_round(request.trial, request.round, request.slots, test))

        reply, state = self._change(request, context, ask, changes=not test)
        reply.state = state
        return reply

    def ObserveRound(self, request, context):
        slots = [None if s.dropped else dict(s.probes) for s in request.slots]
        jobs = [Job(s.job.round, s.job.slot, s.job.staleness, s.job.weight, s.job.fate) for s in request.slots if s.HasField("job")]

        def tell(session):
            session.jobs, session.oldest = jobs, request.oldest
            return session.observe_round(request.trial, request.round, slots, dict(request.aggregates))

        _, state = self._change(request, context, tell)
        return pb.ObserveRoundReply(state=state)

    def Close(self, request, context):
        with self.lock:
            if self.sessions.pop(request.session, None) is None:
                context.abort(grpc.StatusCode.NOT_FOUND, f"no session {request.session!r}")
        return pb.CloseReply()

    def _change(self, request, context, call, changes=True):
        """Runs one call of a session in its turn and returns its answer and the state after it."""
        with self.lock:
            served = self.sessions.get(request.session)
        if served is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no session {request.session!r}")
        with served.lock:
            due = served.seq + 1 if changes else served.seq
            if served.lost or request.seq != due:
                context.abort(grpc.StatusCode.FAILED_PRECONDITION, f"call {due} is due, not {request.seq} (lost: {served.lost})")
            served.lost = changes
            answer = _answer(context, lambda: call(served.session))
            state = served.state(context)
            served.seq, served.lost = due, False
            return answer, state


def _answer(context, call):
    """What the author's code returns. What it raises is shown by fedfast, and ends the study; the traceback goes to the log."""
    try:
        return call()
    except NotImplementedError as e:
        context.abort(grpc.StatusCode.UNIMPLEMENTED, str(e))
    except BaseException as e:  # the author's, whatever it is; SystemExit would end the thread and leave the host without an answer
        traceback.print_exc()
        context.abort(grpc.StatusCode.UNKNOWN, f"{type(e).__name__}: {e}")


def _bytes_method(answer):
    """A gRPC method on messages that are not decoded."""
    return grpc.unary_unary_rpc_method_handler(lambda request, context: answer())


def serve(tuner):
    """Answers the host that started this process until the host ends it or is gone. It is the last call of the program."""
    debug = os.environ.get("FEDFAST_TUNER_DEBUG")
    if not debug and os.environ.get("FEDFAST_TUNER_COOKIE") != COOKIE:
        sys.exit("This program is a tuner: fedfast starts it. Try `fedfast tuner check` with its path.")
    stopped = threading.Event()
    limits = [("grpc.max_receive_message_length", 2 * MAX_STATE + (1 << 20)), ("grpc.max_send_message_length", 2 * MAX_STATE + (1 << 20))]
    server = grpc.server(futures.ThreadPoolExecutor(max_workers=4), options=limits)
    tuner_pb2_grpc.add_TunerServicer_to_server(_Servicer(tuner), server)
    server.add_generic_rpc_handlers((
        grpc.method_handlers_generic_handler("grpc.health.v1.Health", {"Check": _bytes_method(lambda: HEALTHY)}),
        grpc.method_handlers_generic_handler("plugin.GRPCController", {"Shutdown": _bytes_method(lambda: stopped.set() or b"")}),
    ))
    if os.name == "nt":
        network, address = "tcp", f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    else:
        folder = os.environ.get("PLUGIN_UNIX_SOCKET_DIR") or tempfile.mkdtemp(prefix="fedfast-debug-")
        network, address = "unix", os.path.join(folder, f"tuner-{os.getpid()}.sock")
        server.add_insecure_port("unix:" + address)
    server.start()
    if debug:
        print(f"serving without a host; give fedfast --tuner-reattach {tuner.name}={network}:{address}@{os.getpid()}", flush=True)
    else:
        print(f"1|1|{network}|{address}|grpc|", flush=True)
        os.dup2(2, 1)  # stdout belongs to the line above; what is printed from here on goes to the log
        threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
        if os.environ.get("FEDFAST_TUNER_WATCH_STDIN"):
            threading.Thread(target=_end_with_stdin, daemon=True).start()
    try:
        stopped.wait()
    except KeyboardInterrupt:
        if not debug:  # the host decides when it is over
            stopped.wait()
    server.stop(0.5).wait()
    if debug and network == "unix":
        shutil.rmtree(folder, ignore_errors=True)


def _end_with_stdin():
    """The host holds stdin open as long as it lives."""
    while os.read(0, 4096):
        pass
    os._exit(1)


def _end_with_parent(parent):
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
