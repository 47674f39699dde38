import { appendFileSync } from 'node:fs';
import { evaluate, type EvaluateOptions } from '#client';

/**
 * What a child process runs: the options of its eval, and the file in which it notes each call of the task. With `.ended`
 * behind its name, a file has the calls whose scorers have begun: nobody may call the task for them again.
 */
export interface ChildEval {
  options: Pick<EvaluateOptions, 'name' | 'data' | 'spoolDir' | 'concurrency' | 'runKey' | 'gate' | 'report'>;
  log: string;
  /** How long each call takes, in milliseconds. */
  taskMs: number;
  /** The output instead of the input. */
  output?: unknown;
}

const { options, log, taskMs, output } = JSON.parse(process.argv[2]!) as ChildEval;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

void evaluate({
  ...options,
  task: async ({ id, input }) => {
    appendFileSync(log, `${id}\n`);
    await pause(taskMs);
    return output ?? (input as unknown);
  },
  scorers: [
    async function exact({ id, output: given, expected }) {
      appendFileSync(`${log}.ended`, `${id}\n`);
      await pause(taskMs / 5);
      return String(given) === String(expected);
    },
  ],
}).then((summary) => {
  if (process.send) process.send(summary);
  process.disconnect?.();
});
