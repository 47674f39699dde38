import { context, type Span, SpanStatusCode, trace } from '@opentelemetry/api';
import type { CallOutcome } from '../evaluate/call.js';
import type { CaseTracer, TracedCall } from '../evaluate/traces.js';
import { contentAttributes } from './content.js';
import { activeContext, startSpan, withSpan } from './context.js';
import { FLUSH_MS } from './service-exporter.js';
import type { SpanQueue } from './span-queue.js';

const TRACER = Symbol.for('agent-registry.tracer');
const registry = globalThis as { [key: symbol]: unknown };

/**
 * Lets `evaluate` run each case in a trace of ours, to which the spans of all instrumentations belong.
 *
 * @param queue the queue of our spans; undefined if they go through the application's own provider
 * @returns a function that undoes this
 */
export function registerCaseTracer(queue: SpanQueue | undefined): () => void {
  const droppedBefore = queue?.stats.dropped ?? 0;
  const tracer: CaseTracer = {
    isForeign: !queue,
    run: runInTrace,
    flush: async (): Promise<void> => {
      try {
        await queue?.flush(FLUSH_MS);
      } catch (error) {
        if (queue!.stats.queued > 0) throw error;
      }
    },
    get hasLost(): boolean {
      return (queue?.stats.dropped ?? 0) > droppedBefore;
    },
  };
  registry[TRACER] = tracer;
  return () => {
    if (registry[TRACER] === tracer) delete registry[TRACER];
  };
}

async function runInTrace<T extends CallOutcome>(
  { name, experimentId, id, input }: TracedCall,
  call: () => Promise<T>,
): Promise<{ value: T; traceId: string }> {
  const active = trace.deleteSpan(activeContext());
  const attributes = {
    'eval.experiment_id': experimentId,
    'eval.case_id': id,
    ...contentAttributes('input', input),
  };
  const span = startSpan(name, { root: true, attributes }, active);
  try {
    const value = await context.with(withSpan(active, span), call);
    recordOutcome(span, value);
    return { value, traceId: span.spanContext().traceId };
  } finally {
    span.end();
  }
}

function recordOutcome(span: Span, { output, error }: CallOutcome): void {
  if (error === undefined) span.setAttributes(contentAttributes('output', output));
  else span.setStatus({ code: SpanStatusCode.ERROR, message: error });
}
