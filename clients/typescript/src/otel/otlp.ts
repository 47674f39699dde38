import type { HrTime } from '@opentelemetry/api';
import type { ReadableSpan } from '@opentelemetry/sdk-trace-base';

/** A span as JSON of OTLP, with the objects that it shares with other spans. */
export interface EncodedSpan {
  json: string;
  resource: ReadableSpan['resource'];
  scope: ReadableSpan['instrumentationScope'];
}

type Attributes = Readonly<Record<string, unknown>>;

/** Returns the JSON of a span that has ended. */
export function encodeSpan(span: ReadableSpan): EncodedSpan {
  const { traceId, spanId } = span.spanContext();
  const json = JSON.stringify({
    traceId,
    spanId,
    ...(span.parentSpanContext && { parentSpanId: span.parentSpanContext.spanId }),
    name: span.name,
    kind: span.kind + 1, // OTLP begins with 0 for unspecified
    startTimeUnixNano: nanoseconds(span.startTime),
    endTimeUnixNano: nanoseconds(span.endTime),
    attributes: keyValues(span.attributes),
    droppedAttributesCount: span.droppedAttributesCount,
    events: span.events.map(({ name, time, attributes, droppedAttributesCount }) => ({
      name,
      timeUnixNano: nanoseconds(time),
      attributes: keyValues(attributes ?? {}),
      droppedAttributesCount: droppedAttributesCount ?? 0,
    })),
    droppedEventsCount: span.droppedEventsCount,
    links: span.links.map(({ context, attributes, droppedAttributesCount }) => ({
      traceId: context.traceId,
      spanId: context.spanId,
      attributes: keyValues(attributes ?? {}),
      droppedAttributesCount: droppedAttributesCount ?? 0,
    })),
    droppedLinksCount: span.droppedLinksCount,
    status: { code: span.status.code, ...(span.status.message && { message: span.status.message }) },
  });
  return { json, resource: span.resource, scope: span.instrumentationScope };
}

/**
 * Returns the body of an export.
 *
 * @param resourceAttributes replace those of the same name in the resource of each span
 */
export function exportBody(spans: readonly EncodedSpan[], resourceAttributes: Attributes): string {
  const resources = [...groupBy(spans, ({ resource }) => resource)].map(([resource, ofResource]) => {
    const scopes = [...groupBy(ofResource, ({ scope }) => scope)].map(
      ([{ name, version }, ofScope]) =>
        `{"scope":${JSON.stringify({ name, version })},"spans":[${ofScope.map(({ json }) => json).join(',')}]}`,
    );
    const attributes = keyValues({ ...resource.attributes, ...resourceAttributes });
    return `{"resource":{"attributes":${JSON.stringify(attributes)}},"scopeSpans":[${scopes.join(',')}]}`;
  });
  return `{"resourceSpans":[${resources.join(',')}]}`;
}

function groupBy<T, Key>(items: readonly T[], keyOf: (item: T) => Key): Map<Key, T[]> {
  const groups = new Map<Key, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group) group.push(item);
    else groups.set(keyOf(item), [item]);
  }
  return groups;
}

const nanoseconds = ([seconds, nanos]: HrTime): string =>
  String(BigInt(seconds) * 1_000_000_000n + BigInt(nanos));

const keyValues = (attributes: Attributes): object[] =>
  Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(([key, value]) => ({ key, value: anyValue(value) }));

function anyValue(value: unknown): object {
  switch (typeof value) {
    case 'string':
      return { stringValue: value };
    case 'boolean':
      return { boolValue: value };
    case 'number':
      if (Number.isSafeInteger(value)) return { intValue: value };
      return { doubleValue: Number.isFinite(value) ? value : String(value) };
    case 'object':
      if (value === null) return {};
      if (value instanceof Uint8Array) return { bytesValue: btoa(String.fromCharCode(...value)) };
      if (Array.isArray(value)) return { arrayValue: { values: value.map(anyValue) } };
      return { kvlistValue: { values: keyValues(value as Attributes) } };
    default:
      return { stringValue: String(value) };
  }
}
