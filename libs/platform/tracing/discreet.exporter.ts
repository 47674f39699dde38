import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter, TimedEvent } from '@opentelemetry/sdk-trace-base';
import { rootLogger } from '#platform/logging';

/** Of an exception only what it is: its message and stack may quote what a request said. */
const EXCEPTION_TYPE = 'exception.type';

/**
 * Sends spans without the texts of errors, which quote values (`invalid input syntax for type date: "…"`). An endpoint
 * that cannot be reached is told once, and once more when it answers again, not for each batch.
 */
export class DiscreetExporter implements SpanExporter {
  private isFailing = false;

  constructor(private readonly exporter: SpanExporter) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.exporter.export(spans.map(discreet), (result) => {
      this.tell(result);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  private tell({ code, error }: ExportResult): void {
    const isFailing = code !== ExportResultCode.SUCCESS;
    if (isFailing === this.isFailing) return;
    this.isFailing = isFailing;
    if (isFailing) rootLogger.warn({ err: error }, 'traces cannot be sent and are dropped');
    else rootLogger.info('traces can be sent again');
  }
}

/** The span, seen without texts of errors. */
function discreet(span: ReadableSpan): ReadableSpan {
  if (span.status.message === undefined && span.events.length === 0) return span;
  return Object.create(span, {
    status: { value: { code: span.status.code } },
    events: { value: span.events.map(discreetEvent) },
  }) as ReadableSpan;
}

function discreetEvent(event: TimedEvent): TimedEvent {
  const type = event.attributes?.[EXCEPTION_TYPE];
  return { ...event, attributes: type === undefined ? {} : { [EXCEPTION_TYPE]: type } };
}
