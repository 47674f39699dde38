import { type ExportResult, ExportResultCode } from '@opentelemetry/core';
import type { ReadableSpan, SpanExporter, TimedEvent } from '@opentelemetry/sdk-trace-base';
import { rootLogger } from '#platform/logging';

/** The only attribute of an exception that is exported, because its message and stack may quote a request. */
const EXCEPTION_TYPE = 'exception.type';

/**
 * Exports spans without error texts, which quote values (`invalid input syntax for type date: "…"`). Logs when the
 * endpoint becomes unreachable and when it recovers, not for each batch.
 */
export class RedactingExporter implements SpanExporter {
  private isFailing = false;

  constructor(private readonly exporter: SpanExporter) {}

  export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
    this.exporter.export(spans.map(redact), (result) => {
      this.logChange(result);
      done(result);
    });
  }

  shutdown(): Promise<void> {
    return this.exporter.shutdown();
  }

  forceFlush(): Promise<void> {
    return this.exporter.forceFlush?.() ?? Promise.resolve();
  }

  private logChange({ code, error }: ExportResult): void {
    const isFailing = code !== ExportResultCode.SUCCESS;
    if (isFailing === this.isFailing) return;
    this.isFailing = isFailing;
    if (isFailing) rootLogger.warn({ err: error }, 'traces cannot be sent and are dropped');
    else rootLogger.info('traces can be sent again');
  }
}

/** Returns a view of the span without error texts. */
function redact(span: ReadableSpan): ReadableSpan {
  if (span.status.message === undefined && span.events.length === 0) return span;
  return Object.create(span, {
    status: { value: { code: span.status.code } },
    events: { value: span.events.map(redactEvent) },
  }) as ReadableSpan;
}

function redactEvent(event: TimedEvent): TimedEvent {
  const type = event.attributes?.[EXCEPTION_TYPE];
  return { ...event, attributes: type === undefined ? {} : { [EXCEPTION_TYPE]: type } };
}
