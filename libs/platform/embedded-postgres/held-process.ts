import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * Runs the command and waits for it.
 *
 * A reader waits for the end of standard input, which only the parent holds open. When the parent closes it or dies, the
 * reader asks the command to end. It sends TERM before INT, because a shell starts background commands with INT ignored.
 * Until PostgreSQL installs its own handlers, only TERM ends it. Afterwards TERM waits for clients to leave, and INT is a
 * fast shutdown.
 *
 * The shell ignores signals, because a service manager's stop reaches the whole control group, and the shell must not end
 * before its command. The reader's exit status shows a requested end, after which the directory is removed.
 */
const HOLDER = `
remove=$1; shift
exec 3<&0 </dev/null
"$@" 3<&- &
held=$!
trap : HUP INT TERM
( trap - TERM
  while read -r line; do :; done
  trap '' TERM
  kill -TERM $held; kill -INT $held
  exit 0 ) <&3 2>/dev/null &
reader=$!
exec 3<&-
while :; do wait $held; code=$?; kill -0 $held 2>/dev/null || break; done
kill $reader 2>/dev/null
if wait $reader && [ -n "$remove" ]; then cd / && rm -rf "$remove"; fi
exit $code
`;

/** A command that {@link holdProcess} has started. */
export interface HeldProcess {
  /** Resolves when the command has ended for any reason. Never rejects. */
  readonly ended: Promise<void>;
  /** Whether the command has ended. */
  readonly hasEnded: boolean;
  /** The error if the command could not be started. */
  readonly failure: Error | undefined;
  /** Asks the command to end (TERM, then INT). Resolves when it has ended. May be called again. */
  stop(): Promise<void>;
}

/** How {@link holdProcess} runs its command. */
export interface HoldOptions {
  /** The complete environment. This process's own environment is not passed on, because it may contain secrets. */
  readonly env: NodeJS.ProcessEnv;
  /** File descriptor for standard output and standard error. */
  readonly output: number;
  readonly cwd?: string;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** A directory to remove after a requested end of the command, even if this process is dead by then. */
  readonly removeAfterwards?: string | undefined;
  /** File descriptor that the command and its children inherit and hold open as long as they run. */
  readonly inherited?: number | undefined;
}

/**
 * Starts a command that ends with this process, even when this process is killed with SIGKILL. It runs in its own session,
 * so that a Ctrl-C in the terminal does not reach it and this process can finish its work first. It does not keep the
 * event loop alive.
 */
export function holdProcess(command: string, args: readonly string[], options: HoldOptions): HeldProcess {
  const { removeAfterwards, output, inherited, ...rest } = options;
  const shell = spawn('sh', ['-c', HOLDER, 'sh', removeAfterwards ?? '', command, ...args], {
    ...rest,
    // The script uses descriptor 3 itself.
    stdio: ['pipe', output, output, ...(inherited === undefined ? [] : ['ignore' as const, inherited])],
    detached: true,
  });
  let hasEnded = false;
  let failure: Error | undefined;
  const ended = new Promise<void>((resolve) => {
    const end = () => {
      hasEnded = true;
      shell.stdin?.destroy();
      resolve();
    };
    shell.once('exit', end);
    shell.once('error', (error) => {
      failure = error; // For example, this process is not allowed to run programs as that user.
      end();
    });
  });
  shell.stdin?.on('error', () => undefined); // The command ended first: see `ended`.
  keepLoopAlive(shell, false);
  return {
    ended,
    get hasEnded() {
      return hasEnded;
    },
    get failure() {
      return failure;
    },
    stop: () => {
      keepLoopAlive(shell, true);
      shell.stdin?.end();
      return ended;
    },
  };
}

function keepLoopAlive(shell: ChildProcess, keep: boolean): void {
  const input = shell.stdin as Socket | null;
  if (keep) {
    shell.ref();
    input?.ref();
  } else {
    shell.unref();
    input?.unref();
  }
}
