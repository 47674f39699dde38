import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/**
 * Runs the command and waits for it. A reader on standard input, which only the parent holds open, notices when
 * the parent closes it or dies, and asks the command to end. TERM comes before INT because a shell starts
 * background commands with INT ignored: until PostgreSQL has put in its own handlers only TERM ends it; once it
 * has, TERM would wait for clients to leave and INT makes it a fast shutdown. Signals meant for the parent's
 * whole control group (a service manager's stop) must not end the shell before its command. The reader's status
 * tells an end that was asked for, after which the directory goes, from one that was not.
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

/** What {@link holdProcess} starts. */
export interface HeldProcess {
  /** Resolves when the command has ended, for whatever reason. Never rejects. */
  readonly ended: Promise<void>;
  /** Whether the command has ended. */
  readonly hasEnded: boolean;
  /** Why nothing could be started, where that is so. */
  readonly failure: Error | undefined;
  /** Asks the command to end (TERM, then INT) and resolves when it has. May be called again. */
  stop(): Promise<void>;
}

/** How {@link holdProcess} runs its command. */
export interface HoldOptions {
  /** The whole environment: nothing of this process's own, which may hold secrets, is passed on. */
  readonly env: NodeJS.ProcessEnv;
  /** Open file descriptor that gets standard output and standard error. */
  readonly output: number;
  readonly cwd?: string;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /**
   * A directory that is removed once the command was asked to end and has ended, even when this process no longer
   * lives by then.
   */
  readonly removeAfterwards?: string | undefined;
  /** File descriptor that the command, and whatever it starts, keeps open as long as it lives. */
  readonly keepOpen?: number | undefined;
}

/**
 * Starts a command that never outlives this process, even when this process is killed with SIGKILL, and that a
 * Ctrl-C in the terminal does not reach: it runs in a session of its own, so this process can finish its work
 * with it first. It does not keep the event loop alive.
 */
export function holdProcess(command: string, args: readonly string[], options: HoldOptions): HeldProcess {
  const { removeAfterwards, output, keepOpen, ...rest } = options;
  const shell = spawn('sh', ['-c', HOLDER, 'sh', removeAfterwards ?? '', command, ...args], {
    ...rest,
    // The script uses descriptor 3 itself.
    stdio: ['pipe', output, output, ...(keepOpen === undefined ? [] : ['ignore' as const, keepOpen])],
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
      failure = error; // There is no shell, say, or this process may not run one as that user.
      end();
    });
  });
  shell.stdin?.on('error', () => undefined); // The command ended first; `ended` tells.
  keepsLoopAlive(shell, false);
  return {
    ended,
    get hasEnded() {
      return hasEnded;
    },
    get failure() {
      return failure;
    },
    stop: () => {
      keepsLoopAlive(shell, true);
      shell.stdin?.end();
      return ended;
    },
  };
}

function keepsLoopAlive(shell: ChildProcess, yes: boolean): void {
  const input = shell.stdin as Socket | null;
  if (yes) {
    shell.ref();
    input?.ref();
  } else {
    shell.unref();
    input?.unref();
  }
}
