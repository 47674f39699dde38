import { faultOfMetric, type MetricDraft, newMetric, setType } from './metric.draft';
import { type OtlpDataPoint, type OtlpMetricType, TEMPORALITIES } from './metric.types';
import type { OtlpResource, OtlpScope } from './otlp.types';
import { ProtobufEnvelopeReader } from './protobuf-envelope.reader';
import { ProtobufPointReader } from './protobuf-point.reader';
import type { RecordCollector } from './record.collector';

/** Reads an ExportMetricsServiceRequest in protobuf: the metrics of metrics.proto of opentelemetry-proto. */
export class ProtobufMetricReader extends ProtobufEnvelopeReader {
  private readonly pointReader: ProtobufPointReader;

  constructor(
    bytes: Buffer,
    private readonly points: RecordCollector<OtlpDataPoint>,
  ) {
    super(bytes, 'ExportMetricsServiceRequest', points);
    this.pointReader = new ProtobufPointReader(this.values, points);
  }

  protected override item(resource: OtlpResource, scope: OtlpScope): void {
    this.points.countRecord();
    const metric = newMetric(resource, scope);
    const read = this.metric(metric);
    // checked after the points, because the name may follow them
    const fault = faultOfMetric(metric);
    for (const point of read) {
      this.points.collect(point, fault);
    }
    if (fault !== undefined && read.length === 0) {
      this.points.reject(fault);
    }
  }

  private metric(metric: MetricDraft): OtlpDataPoint[] {
    const { values } = this;
    const { reader } = values;
    const outerEnd = values.enter();
    let points: OtlpDataPoint[] = [];
    /** Replaces data of another kind, and appends to data of the same kind, as protobuf requires. */
    const data = (type: OtlpMetricType): void => {
      if (metric.type !== type) {
        points = [];
        setType(metric, type);
      }
      this.data(metric, type, points);
    };
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      switch (tag) {
        case 10: // name = 1
          metric.name = values.text();
          break;
        case 18: // description = 2
          metric.description = values.text();
          break;
        case 26: // unit = 3
          metric.unit = values.text();
          break;
        case 42: // gauge = 5
          data('gauge');
          break;
        case 58: // sum = 7
          data('sum');
          break;
        case 74: // histogram = 9
          data('histogram');
          break;
        case 82: // exponential_histogram = 10
          data('exponential_histogram');
          break;
        case 90: // summary = 11
          data('summary');
          break;
        case 98: // metadata = 12
          values.attribute(metric.metadata);
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
    return points;
  }

  private data(metric: MetricDraft, type: OtlpMetricType, points: OtlpDataPoint[]): void {
    const { values } = this;
    const { reader } = values;
    const outerEnd = values.enter();
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      if (tag === 10 /* data_points = 1 */) {
        points.push(this.pointReader.point(metric, type));
      } else if (tag === 16 /* aggregation_temporality = 2 */ && metric.temporality !== null) {
        metric.temporality = TEMPORALITIES[reader.int32()] ?? 'unspecified';
      } else if (tag === 24 /* is_monotonic = 3 */ && metric.isMonotonic !== null) {
        metric.isMonotonic = reader.bool();
      } else {
        values.skip(tag);
      }
    }
    values.leave(outerEnd);
  }
}
