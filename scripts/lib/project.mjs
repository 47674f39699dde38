// What the scripts share: where the project lies, and how they run a program and speak.
import { spawn } from 'node:child_process';
import path from 'node:path';

/** The checkout, from wherever the script was called. */
export const ROOT = path.resolve(import.meta.dirname, '../..');

const FORWARDED = ['SIGHUP', 'SIGINT', 'SIGTERM'];

/**
 * Runs a program in the checkout with this terminal's output, and passes on the signals that would end this process.
 * Resolves to whether it ended well.
 */
export function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
    const forward = (signal) => child.kill(signal);
    const finish = (ok) => {
      for (const signal of FORWARDED) process.off(signal, forward);
      resolve(ok);
    };
    for (const signal of FORWARDED) process.on(signal, forward);
    child.once('error', (error) => {
      say(`${command}: ${error.message}`);
      finish(false);
    });
    child.once('exit', (code) => finish(code === 0));
  });
}

/** As {@link run}, for a script that runs in Node. */
export function runNode(script, args = []) {
  return run(process.execPath, [path.join(ROOT, script), ...args]);
}

/** A line for whoever waits at the terminal. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}
