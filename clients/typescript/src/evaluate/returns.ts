import type { EvaluateOptions } from './options.js';

/** Wraps a task, and tells afterwards whether all of its calls returned nothing. */
export function watchReturns(task: EvaluateOptions['task']): {
  task: EvaluateOptions['task'];
  problems(): string[];
} {
  let nothing = 0;
  let something = 0;
  return {
    task: async (one) => {
      const output: unknown = await task(one);
      if (output === undefined) nothing += 1;
      else something += 1;
      return output;
    },
    problems: () =>
      nothing > 0 && something === 0
        ? ['The task returned nothing, so each output is null. Is a return missing?']
        : [],
  };
}
