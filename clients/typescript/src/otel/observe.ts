import {
  type Attributes,
  type Context,
  context,
  isSpanContextValid,
  type Span,
  SpanStatusCode,
} from '@opentelemetry/api';
import { contentAttributes } from './content.js';
import { activeContext, spanIn, startSpan, type TraceMembers, withMembers, withSpan } from './context.js';
import { isGenerator, observeGenerator } from './generators.js';
import { requestAttributes, responseAttributes } from './model-call.js';

/** What a function does. The service shows it, and groups statistics by it. */
export type SpanKindName =
  | 'agent'
  | 'chain'
  | 'embedding'
  | 'evaluator'
  | 'guardrail'
  | 'llm'
  | 'reranker'
  | 'retriever'
  | 'tool';

type AnyFunction = (...args: never[]) => unknown;

export interface ObserveOptions<F extends AnyFunction> {
  /** The name of the span. Default: the name of the function. */
  name?: string;
  /**
   * What the function does. Default: `chain`. With `llm`, the model, the tokens and the messages are read from a request and
   * an answer in the form of OpenAI's or Anthropic's API.
   */
  kind?: SpanKindName;
  /** `false` records no input; a function returns what to record. Default: the arguments. */
  captureInput?: boolean | ((...args: Parameters<F>) => unknown);
  /** `false` records no output; a function returns what to record. Default: what the function returns. */
  captureOutput?: boolean | ((output: Awaited<ReturnType<F>>) => unknown);
  /** More attributes of the span. */
  attributes?: Attributes;
}

/**
 * Returns a function that does what `fn` does, and records a span for each call: its input, its output or error, and below it
 * the spans that start during the call. Works for functions that return a value, a promise, a generator or an async generator.
 *
 * Recording never changes what the function returns or throws. Values that JSON cannot represent are described, and inputs
 * and outputs end after 256 Ki characters. The span of a generator ends when its loop ends, and holds what it yielded.
 */
export function observe<F extends AnyFunction>(fn: F, options?: ObserveOptions<F>): F;
export function observe<F extends AnyFunction>(name: string, fn: F, options?: ObserveOptions<F>): F;
export function observe<F extends AnyFunction>(
  ...args: [F, ObserveOptions<F>?] | [string, F, ObserveOptions<F>?]
): F {
  const [fn, options = {}] = (typeof args[0] === 'string' ? args.slice(1) : args) as [F, ObserveOptions<F>?];
  const name = (typeof args[0] === 'string' ? args[0] : options.name) ?? (fn.name || 'anonymous');
  const { kind = 'chain' } = options;
  const attributes = {
    'openinference.span.kind': kind.toUpperCase(),
    ...(kind === 'tool' && { 'tool.name': name }),
    ...(kind === 'agent' && { 'agent.name': name }),
    ...options.attributes,
  };
  function observed(this: unknown, ...values: Parameters<F>): unknown {
    const active = activeContext();
    const span = startSpan(name, { attributes }, active);
    const inside = withSpan(active, span);
    const run = (): unknown => fn.apply(this as never, values);
    if (!span.isRecording()) return context.with(inside, run);
    span.setAttributes(inputAttributes(kind, options.captureInput ?? true, values));
    return new Call(span, inside, options as ObserveOptions<AnyFunction>).run(run);
  }
  Object.defineProperties(observed, { name: { value: fn.name }, length: { value: fn.length } });
  return observed as unknown as F;
}

/**
 * Runs a function, and gives the user, the session, the tags and the metadata to all spans that start during it, by whichever
 * instrumentation. Inner calls override outer ones, and add to their tags. With `name`, the function also becomes a span of its
 * own, whose output is what the function returns, unless that is an object of a framework. Returns what the function returns.
 */
export function withTrace<T>({ name, ...members }: TraceMembers & { name?: string }, fn: () => T): T {
  const captureOutput = (output: unknown): unknown => (isData(output) ? output : undefined);
  const options = { captureInput: false, captureOutput };
  const run = name === undefined ? fn : (observe(name, fn as () => unknown, options) as () => T);
  return context.with(withMembers(activeContext(), members), run);
}

/** Tells whether a value is no object of a class. Those have many members, and reading one may start work. */
const isData = (value: unknown): boolean =>
  typeof value !== 'object' ||
  value === null ||
  Array.isArray(value) ||
  [Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null);

/** Returns the trace that is being recorded here, for feedback; undefined outside of spans. */
export function currentTraceId(): string | undefined {
  const spanContext = currentSpan()?.spanContext();
  return spanContext && isSpanContextValid(spanContext) ? spanContext.traceId : undefined;
}

/** Returns the span that is being recorded here, to add attributes or events to it; undefined outside of spans. */
export const currentSpan = (): Span | undefined => spanIn(activeContext());

/** One call of an observed function. */
class Call {
  constructor(
    private readonly span: Span,
    private readonly inside: Context,
    private readonly options: ObserveOptions<AnyFunction>,
  ) {}

  run(fn: () => unknown): unknown {
    let result: unknown;
    try {
      result = context.with(this.inside, fn);
    } catch (error) {
      this.fail(error);
      throw error;
    }
    if (!isPromise(result)) return this.returned(result);
    const onValue = (value: unknown): unknown => this.returned(value);
    const onError = (error: unknown): void => this.fail(error);
    if (result.constructor?.name === 'Promise')
      return result.then(onValue, (error: unknown) => {
        onError(error);
        throw error;
      });
    // A subclass may have more methods, so the caller gets the very object.
    result.then(onValue, onError);
    return result;
  }

  private returned(value: unknown): unknown {
    if (isGenerator(value))
      return observeGenerator(value, this.inside, {
        onFirst: (ms) => this.span.setAttribute('gen_ai.response.time_to_first_chunk', ms / 1000),
        onEnd: (output) => this.end(output),
        onError: (error) => this.fail(error),
      });
    this.end(value);
    return value;
  }

  private end(output: unknown): void {
    const { captureOutput = true, kind } = this.options;
    if (captureOutput !== false)
      this.record(() => {
        const value = typeof captureOutput === 'function' ? captureOutput(output as never) : output;
        return {
          ...contentAttributes('output', value),
          ...(kind === 'llm' && responseAttributes(value)),
        };
      });
    else if (kind === 'llm')
      this.record(() => {
        const { 'gen_ai.output.messages': _, ...attributes } = responseAttributes(output);
        return attributes;
      });
    this.span.end();
  }

  private fail(error: unknown): void {
    const message = error instanceof Error ? error.message : String(error);
    this.span.recordException(error instanceof Error ? error : message);
    this.span.setStatus({ code: SpanStatusCode.ERROR, message });
    this.span.end();
  }

  /** Sets attributes. A failure to read a value is no failure of the function. */
  private record(attributes: () => Attributes): void {
    try {
      this.span.setAttributes(attributes());
    } catch (error) {
      this.span.setAttribute('agent_registry.capture_error', String(error));
    }
  }
}

function inputAttributes<F extends AnyFunction>(
  kind: SpanKindName,
  captureInput: NonNullable<ObserveOptions<F>['captureInput']>,
  args: Parameters<F>,
): Attributes {
  try {
    const request = kind === 'llm' ? requestAttributes(args) : {};
    if (captureInput === false) {
      const { 'gen_ai.request.model': model } = request;
      return model === undefined ? {} : { 'gen_ai.request.model': model };
    }
    const value = typeof captureInput === 'function' ? captureInput(...args) : inputOf(args);
    return { ...contentAttributes('input', value), ...request };
  } catch (error) {
    return { 'agent_registry.capture_error': String(error) };
  }
}

/** Returns the only argument, or the list of arguments. */
const inputOf = (args: readonly unknown[]): unknown => (args.length <= 1 ? args[0] : args);

/** Tells whether a value is a promise or of a subclass. Calling `then` on other thenables might start their work. */
const isPromise = (value: unknown): value is Promise<unknown> =>
  Object.prototype.toString.call(value) === '[object Promise]';
