// Shared by the scripts: the root of the project, running programs, and output.
import { spawn } from 'node:child_process';
import path from 'node:path';

/** The root of the checkout, independent of the working directory. */
export const ROOT = path.resolve(import.meta.dirname, '../..');

const FORWARDED = ['SIGHUP', 'SIGINT', 'SIGTERM'];

/**
 * Runs a program in the checkout, with this terminal's output, and forwards signals. Resolves to true if it exits with 0.
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

/** Like {@link run}, for a Node script. */
export function runNode(script, args = []) {
  return run(process.execPath, [path.join(ROOT, script), ...args]);
}

/** Prints a line for the user. */
export function say(line) {
  process.stderr.write(`${line}\n`);
}
