import { ByteBudget } from '#platform/concurrency';
import { toBaseTraceDto, type TraceRow, type TraceSpan } from '../../../telemetry';
import { MAX_SUBJECT_LENGTH } from '../../scorers';
import { isUnread, jsonSize, SPANS_MAX } from '../../trace-content';

/**
 * Maximum size of a subject, in bytes of JSON. The rest of the engine's limit is reserved for member names. A text has no
 * more UTF-16 code units than bytes, so a subject within this limit is also within the engine's limit.
 */
export const SUBJECT_MAX = MAX_SUBJECT_LENGTH - 64 * 1024;

/** Limits what a scorer sees of one target, in spans and in bytes. */
export class SubjectBudget {
  spans = SPANS_MAX;
  private readonly budget = new ByteBudget({ total: SUBJECT_MAX });
  private readonly lease = this.budget.acquire('');

  /** Bytes left. */
  get bytes(): number {
    return SUBJECT_MAX - this.budget.used;
  }

  /** Takes bytes and returns true. If they do not fit, takes none and returns false. */
  take(bytes: number): boolean {
    return this.lease.tryGrow(bytes);
  }

  /** Takes items up to the first one that does not fit, and returns them. */
  first<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Item[] {
    const end = items.findIndex((item) => !this.take(sizeOf(item)));
    return end < 0 ? [...items] : items.slice(0, end);
  }
}

/** The members of a trace that a scorer always sees. */
export const totalsOf = (trace: TraceRow) => ({ ...toBaseTraceDto(trace), ended_at: trace.ended_at });

/** A span without its content. */
const bareSpan = (span: TraceSpan) => ({
  span_id: span.span_id,
  parent_span_id: span.parent_span_id,
  name: span.name,
  kind: span.kind,
  status: span.status,
  started_at: span.started_at,
  ended_at: span.ended_at,
  duration_ms: span.duration_ms,
  start_unknown: span.start_unknown,
  operation: span.operation,
  provider: span.provider,
  model: span.model,
  agent_name: span.agent_name,
  tool_name: span.tool_name,
  input_tokens: span.input_tokens,
  output_tokens: span.output_tokens,
  cached_input_tokens: span.cached_input_tokens,
  cache_write_tokens: span.cache_write_tokens,
  reasoning_tokens: span.reasoning_tokens,
  time_to_first_token_ms: span.time_to_first_token_ms,
  cost_usd: span.cost_usd,
  input: null as unknown,
  output: null as unknown,
  attributes: {} as unknown,
  events: [] as unknown,
  links: [] as unknown,
  is_truncated: true,
});

type SpanView = ReturnType<typeof bareSpan>;

export interface ShownSpans {
  views: SpanView[];
  /** Whether spans, or contents of spans, are missing. */
  isCut: boolean;
}

/**
 * Returns the spans that fit into the budget: first all spans without content, then their attributes, events and links, and
 * finally their input and output, which mostly repeat attributes and events.
 */
export function spanViews(spans: readonly TraceSpan[], budget: SubjectBudget): SpanView[] {
  const bare = budget.first(spans.map(bareSpan), jsonSize);
  const raw = bare.map((view, index) => {
    const { attributes, events, links, content_size } = spans[index]!;
    const isShown = attributes !== null && budget.take(content_size);
    return isShown ? { ...view, attributes, events, links, is_truncated: false } : view;
  });
  return raw.map((view, index) => {
    const { input, output } = spans[index]!;
    const isShown = (input ?? output) === null || budget.take(jsonSize(input) + jsonSize(output));
    return isShown ? { ...view, input, output } : { ...view, is_truncated: true };
  });
}

/** Returns a trace with its totals, its spans if given, and its content if it fits into the budget. */
export function traceView(trace: TraceRow, spans: ShownSpans | undefined, budget: SubjectBudget): object {
  const isShown = !isUnread(trace) && budget.take(trace.content_size);
  return {
    ...totalsOf(trace),
    input: isShown ? trace.input : null,
    output: isShown ? trace.output : null,
    ...(spans && { spans: spans.views }),
    is_truncated: !isShown || spans?.isCut === true,
  };
}
