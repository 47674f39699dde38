import { type Context, context } from '@opentelemetry/api';
import { CONTENT_MAX } from './content.js';

type AnyGenerator = Generator | AsyncGenerator;

/** Called once each, at most. */
interface GeneratorEvents {
  /** @param ms the time until the first value */
  onFirst: (ms: number) => void;
  onEnd: (output: unknown) => void;
  onError: (error: unknown) => void;
}

/** Most values of a generator that are recorded. */
const VALUES_MAX = 10_000;

const TAGS = ['[object Generator]', '[object AsyncGenerator]'];

/** Tells whether a value is a generator, and not another iterable. */
export const isGenerator = (value: unknown): value is AnyGenerator =>
  TAGS.includes(Object.prototype.toString.call(value));

/** Returns the generator, each step of which runs in a context, and which reports its end and its values. */
export function observeGenerator(
  generator: AnyGenerator,
  inside: Context,
  events: GeneratorEvents,
): AnyGenerator {
  const output = new Output();
  const start = performance.now();
  let isOpen = true;
  const close = (report: () => void): void => {
    if (isOpen) report();
    isOpen = false;
  };
  const onStep = (step: IteratorResult<unknown>): IteratorResult<unknown> => {
    if (step.done) close(() => events.onEnd(output.value(step.value)));
    else if (isOpen) {
      if (output.isEmpty) events.onFirst(performance.now() - start);
      output.add(step.value);
    }
    return step;
  };
  const onError = (error: unknown): never => {
    close(() => events.onError(error));
    throw error;
  };
  /** Calls `next`, `return` or `throw`. */
  const call = (method: (...args: unknown[]) => unknown, args: unknown[]): unknown => {
    let step: unknown;
    try {
      step = context.with(inside, () => method.apply(generator, args));
    } catch (error) {
      return onError(error);
    }
    return step instanceof Promise || Object.prototype.toString.call(step) === '[object Promise]'
      ? (step as Promise<IteratorResult<unknown>>).then(onStep, onError)
      : onStep(step as IteratorResult<unknown>);
  };
  return new Proxy(generator, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      const method = member as (...args: unknown[]) => unknown;
      if (name === Symbol.iterator || name === Symbol.asyncIterator)
        return function (this: unknown) {
          return this;
        };
      return name === 'next' || name === 'return' || name === 'throw'
        ? (...args: unknown[]) => call(method, args)
        : method.bind(target);
    },
  });
}

/** The values of a generator: joined if all are texts. */
class Output {
  private readonly values: unknown[] = [];
  private length = 0;

  get isEmpty(): boolean {
    return this.values.length === 0;
  }

  add(value: unknown): void {
    if (this.length > CONTENT_MAX || this.values.length >= VALUES_MAX) return;
    this.length += typeof value === 'string' ? value.length : 64;
    this.values.push(value);
  }

  /** @param returned the value of the generator itself */
  value(returned: unknown): unknown {
    if (this.isEmpty) return returned;
    return this.values.every((value) => typeof value === 'string') ? this.values.join('') : this.values;
  }
}
