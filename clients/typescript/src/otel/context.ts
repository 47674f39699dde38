import {
  type Attributes,
  type Context,
  context,
  createContextKey,
  ROOT_CONTEXT,
  type Span,
  type SpanOptions,
  trace,
  type Tracer,
} from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import type { Tracing } from './tracing.js';

/** The tracing of this process. Copies of this module (ESM and CommonJS) share it. */
export interface TracingState {
  tracer: Tracer;
  /**
   * Whether another provider is the global one. Our spans are then not the active spans of OpenTelemetry's context, because
   * they would become the parents of spans that go elsewhere, and the other way round.
   */
  isIsolated: boolean;
}

interface Shared {
  tracing?: Tracing | undefined;
  state?: TracingState | undefined;
  /** Finds the span of a framework that keeps its own context instead of OpenTelemetry's. */
  findSpan?: ((active: Context) => Span | undefined) | undefined;
}

const SHARED = Symbol.for('agent-registry.tracing');
/** The members of all copies of this module. */
export const shared = ((globalThis as Record<symbol, Shared | undefined>)[SHARED] ??= {});

const SPAN_KEY = createContextKey('agent-registry span');
const MEMBERS_KEY = createContextKey('agent-registry members of the trace');
/** The key with which OpenTelemetry's SDK keeps instrumentations from recording the requests of an exporter. */
const SUPPRESS_KEY = createContextKey('OpenTelemetry SDK Context Key SUPPRESS_TRACING');

/** The context of work that must not be traced. */
export const UNTRACED = ROOT_CONTEXT.setValue(SUPPRESS_KEY, true);

/** Returns the active context, in which the span of a framework with its own context counts as active, too. */
export const activeContext = (): Context => withFrameworkSpan(context.active());

function withFrameworkSpan(active: Context): Context {
  const span = shared.findSpan?.(active);
  return span ? withSpan(active, span) : active;
}

/** Returns the active context as OpenTelemetry keeps it, without the spans of frameworks with their own context. */
export function openTelemetryContext(): Context {
  const { findSpan } = shared;
  shared.findSpan = undefined;
  try {
    return context.active();
  } finally {
    shared.findSpan = findSpan;
  }
}

/** Keeps the active context, as OpenTelemetry does, and knows the spans of frameworks with their own context. */
export class ContextManager extends AsyncLocalStorageContextManager {
  override active(): Context {
    return withFrameworkSpan(super.active());
  }
}

/** Returns the span of ours that is active. */
export const spanIn = (active: Context): Span | undefined =>
  shared.state?.isIsolated ? (active.getValue(SPAN_KEY) as Span | undefined) : trace.getSpan(active);

/** Returns a context in which the span is active. */
export const withSpan = (active: Context, span: Span): Context =>
  shared.state?.isIsolated ? active.setValue(SPAN_KEY, span) : trace.setSpan(active, span);

/** Returns the context whose span becomes the parent of a new span of ours. */
export function parentContext(active: Context): Context {
  if (!shared.state?.isIsolated) return active;
  const span = spanIn(active);
  return span ? trace.setSpan(active, span) : trace.deleteSpan(active);
}

/** The tracer of our provider, else of the global one. */
export const tracer = (): Tracer => shared.state?.tracer ?? trace.getTracer('agent-registry');

/** Starts a span of ours below the active one, with the members that `withTrace` gives to all spans. */
export function startSpan(name: string, options: SpanOptions, active: Context = activeContext()): Span {
  const attributes = { ...traceAttributes(active), ...options.attributes };
  return tracer().startSpan(name, { ...options, attributes }, parentContext(active));
}

/** A tracer for frameworks that take one: its spans are below our spans, also when another provider is the global one. */
export class OwnTracer implements Tracer {
  constructor(private readonly inner: Tracer) {}

  startSpan(name: string, options?: SpanOptions, active: Context = activeContext()): Span {
    return this.inner.startSpan(name, options, parentContext(active));
  }

  startActiveSpan<F extends (span: Span) => unknown>(
    name: string,
    ...rest: [F] | [SpanOptions, F] | [SpanOptions, Context, F]
  ): ReturnType<F> {
    const fn = rest.at(-1) as F;
    const [options, active = activeContext()] = rest.slice(0, -1) as [SpanOptions?, Context?];
    const span = this.startSpan(name, options, active);
    return context.with(withSpan(active, span), () => fn(span) as ReturnType<F>);
  }
}

/** Members of a trace that all its spans carry. */
export interface TraceMembers {
  /** The user, for filters, statistics and erasure. Up to 255 characters. */
  userId?: string;
  /** The conversation. Traces with the same session form one transcript. Up to 255 characters. */
  sessionId?: string;
  /** Tags of the trace, of 1 to 255 characters each, at most 100. */
  tags?: readonly string[];
  /** More attributes. `{ plan: 'pro' }` is found with `attribute=metadata.plan:pro`. */
  metadata?: Readonly<Record<string, string | number | boolean>>;
}

/** Returns a context with these members in addition to those that it has. Tags are added, other members replaced. */
export function withMembers(active: Context, { tags, metadata, ...ids }: TraceMembers): Context {
  const outer = membersIn(active);
  return active.setValue(MEMBERS_KEY, {
    ...outer,
    ...Object.fromEntries(Object.entries(ids).filter(([, id]) => id !== undefined)),
    tags: [...new Set([...(outer.tags ?? []), ...(tags ?? [])])],
    metadata: { ...outer.metadata, ...metadata },
  } satisfies TraceMembers);
}

/** Returns the attributes that every span in a context gets, under the names that the service reads. */
export function traceAttributes(active: Context): Attributes {
  const { userId, sessionId, tags, metadata } = membersIn(active);
  return {
    ...(userId !== undefined && { 'user.id': userId }),
    ...(sessionId !== undefined && { 'session.id': sessionId }),
    ...(tags && tags.length > 0 && { 'tag.tags': [...tags] }),
    ...Object.fromEntries(Object.entries(metadata ?? {}).map(([name, value]) => [`metadata.${name}`, value])),
  };
}

const membersIn = (active: Context): TraceMembers =>
  (active.getValue(MEMBERS_KEY) as TraceMembers | undefined) ?? {};
