import { finishExemplar, newExemplar } from './metric.draft';
import type { OtlpExemplar } from './metric.types';
import { SPAN_ID_BYTES, TRACE_ID_BYTES } from './otlp-id';
import type { ProtobufValueReader } from './protobuf-value.reader';

/** Reads an Exemplar of metrics.proto. */
export function readProtobufExemplar(values: ProtobufValueReader): OtlpExemplar {
  const { reader } = values;
  const outerEnd = values.enter();
  const exemplar = newExemplar();
  while (reader.pos < reader.len) {
    const tag = reader.tag();
    switch (tag) {
      case 17: // time_unix_nano = 2
        exemplar.timeUnixNano = values.fixed64();
        break;
      case 25: // as_double = 3
        exemplar.value = values.double();
        break;
      case 34: // span_id = 4
        exemplar.spanId = values.id(SPAN_ID_BYTES);
        break;
      case 42: // trace_id = 5
        exemplar.traceId = values.id(TRACE_ID_BYTES);
        break;
      case 49: // as_int = 6
        exemplar.value = values.sfixed64Integer();
        break;
      case 58: // filtered_attributes = 7
        values.attribute(exemplar.attributes);
        break;
      default:
        values.skip(tag);
    }
  }
  values.leave(outerEnd);
  return finishExemplar(exemplar);
}
