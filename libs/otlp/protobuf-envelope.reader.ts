import type { ElementCounter } from './element.counter';
import { OtlpDecodeError } from './otlp.types';
import type { OtlpResource, OtlpScope } from './otlp.types';
import { otherSignalOf } from './protobuf-signal';
import { fieldsOf, type MessageFields, ProtobufValueReader } from './protobuf-value.reader';
import type { RecordCollector } from './record.collector';
import type { OtlpSignal } from './response.encoder';
import { ENVELOPE_NAMES, misdirected } from './signal.names';

/**
 * Reads an export request in protobuf in one pass, without building the messages first. Handles everything that the requests
 * for traces, logs and metrics share: all but the innermost records (trace_service.proto, logs_service.proto,
 * metrics_service.proto and resource.proto of opentelemetry-proto). The numbers of the cases are the encoded tags: the field
 * number times 8, plus the wire type.
 */
export abstract class ProtobufEnvelopeReader {
  protected readonly values: ProtobufValueReader;

  constructor(
    private readonly bytes: Buffer,
    private readonly signal: OtlpSignal,
    private readonly counter: ElementCounter,
  ) {
    this.values = new ProtobufValueReader(bytes, counter);
  }

  /**
   * Reads the request, and pauses between records so that the caller can do other work.
   *
   * @throws OtlpDecodeError if the body as a whole is unreadable
   */
  *read(): Generator<void, void> {
    const other = otherSignalOf(this.bytes, this.signal);
    if (other !== null) throw new OtlpDecodeError(misdirected(other, this.signal));
    try {
      yield* this.resources();
    } catch (error) {
      // The reader of protobufjs throws RangeError and plain Error. All other errors are bugs.
      if (error instanceof RangeError || (error instanceof Error && error.constructor === Error)) {
        const { request } = ENVELOPE_NAMES[this.signal];
        const detail = `The body is not a complete protobuf ${request} (read up to byte ${this.values.reader.pos}).`;
        throw new OtlpDecodeError(detail, { cause: error });
      }
      throw error;
    }
  }

  /** Reads one record: a span, a log record or a metric. Returns the steps of reading if they may take long. */
  protected abstract item(resource: OtlpResource, scope: OtlpScope): Generator<void, void> | void;

  private *resources(): Generator<void, void> {
    const { reader } = this.values;
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      if (tag === 10 /* resource_spans, resource_logs, resource_metrics = 1 */) {
        yield* this.resourceItems();
      } else {
        this.values.skip(tag);
      }
    }
  }

  private *resourceItems(): Generator<void, void> {
    const { values } = this;
    const { reader } = values;
    this.counter.countRecord();
    const outerEnd = values.enter();
    const resource = newResource();
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 10: // resource = 1
          this.counter.startRecord();
          values.message(resource, RESOURCE);
          break;
        case 18: // scope_spans, scope_logs, scope_metrics = 2
          yield* this.scopeItems(resource);
          break;
        case 26: // schema_url = 3
          resource.schemaUrl = values.text();
          break;
        default:
          values.skip(tag);
      }
      if (this.counter.isPauseDue()) yield;
    }
    values.leave(outerEnd);
  }

  private *scopeItems(resource: OtlpResource): Generator<void, void> {
    const { values } = this;
    const { reader } = values;
    this.counter.countRecord();
    const outerEnd = values.enter();
    const scope = newScope();
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 10: // scope = 1
          this.counter.startRecord();
          values.message(scope, SCOPE);
          break;
        case 18: {
          // spans, log_records, metrics = 2
          this.counter.countRecord();
          this.counter.startRecord();
          const steps = this.item(resource, scope);
          if (steps) yield* steps;
          break;
        }
        case 26: // schema_url = 3
          scope.schemaUrl = values.text();
          break;
        default:
          values.skip(tag);
      }
      if (this.counter.isPauseDue()) yield;
    }
    values.leave(outerEnd);
  }
}

/** Reads a request whose records are collected as they are. */
export class ProtobufRecordReader<Item extends object> extends ProtobufEnvelopeReader {
  constructor(
    bytes: Buffer,
    signal: OtlpSignal,
    private readonly records: RecordCollector<Item>,
    private readonly create: (resource: OtlpResource, scope: OtlpScope) => Item,
    private readonly fields: MessageFields<Item>,
  ) {
    super(bytes, signal, records);
  }

  protected override item(resource: OtlpResource, scope: OtlpScope): void {
    this.records.collect(this.values.message(this.create(resource, scope), this.fields));
  }
}

const RESOURCE = fieldsOf<OtlpResource>(
  { 16: (resource, values) => (resource.droppedAttributesCount += values.reader.uint32()) },
  10,
);

const SCOPE = fieldsOf<OtlpScope>(
  {
    10: (scope, values) => (scope.name = values.text()),
    18: (scope, values) => (scope.version = values.text()),
    32: (scope, values) => (scope.droppedAttributesCount += values.reader.uint32()),
  },
  26,
);

/** Creates a resource with the defaults of protobuf, for a reader to fill. */
function newResource(): OtlpResource {
  return { attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
}

/** Creates a scope with the defaults of protobuf, for a reader to fill. */
function newScope(): OtlpScope {
  return { name: '', version: '', attributes: {}, droppedAttributesCount: 0, schemaUrl: '' };
}
