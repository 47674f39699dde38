import { faultOfMetric, type MetricDraft, newMetric, setType } from './metric.draft';
import { type OtlpDataPoint, type OtlpMetricType, TEMPORALITIES } from './metric.types';
import type { OtlpResource, OtlpScope } from './otlp.types';
import { ProtobufEnvelopeReader } from './protobuf-envelope.reader';
import { readPoint } from './protobuf-point.reader';
import type { RecordCollector } from './record.collector';

/** Reads an ExportMetricsServiceRequest in protobuf: the metrics of metrics.proto of opentelemetry-proto. */
export class ProtobufMetricReader extends ProtobufEnvelopeReader {
  constructor(
    bytes: Buffer,
    private readonly points: RecordCollector<OtlpDataPoint>,
  ) {
    super(bytes, 'metrics', points);
  }

  protected override *item(resource: OtlpResource, scope: OtlpScope): Generator<void, void> {
    const metric = newMetric(resource, scope);
    const read = yield* this.metric(metric);
    // checked after the points, because the name may follow them
    const fault = faultOfMetric(metric);
    for (const point of read) {
      this.points.collect(point, fault);
    }
    if (fault !== undefined && read.length === 0) {
      this.points.reject(fault);
    }
  }

  private *metric(metric: MetricDraft): Generator<void, OtlpDataPoint[]> {
    const { values } = this;
    const { reader } = values;
    const outerEnd = values.enter();
    const metadata = { attributes: metric.metadata };
    let metadataCount = 0;
    let points: OtlpDataPoint[] = [];
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
          points = yield* this.data(metric, 'gauge', points);
          break;
        case 58: // sum = 7
          points = yield* this.data(metric, 'sum', points);
          break;
        case 74: // histogram = 9
          points = yield* this.data(metric, 'histogram', points);
          break;
        case 82: // exponential_histogram = 10
          points = yield* this.data(metric, 'exponential_histogram', points);
          break;
        case 90: // summary = 11
          points = yield* this.data(metric, 'summary', points);
          break;
        case 98: // metadata = 12
          values.attribute(metadata, metadataCount++);
          break;
        default:
          values.skip(tag);
      }
    }
    values.leave(outerEnd);
    return points;
  }

  /** Reads the data of a metric. Appends to points of the same type, and replaces points of another type, as protobuf requires. */
  private *data(
    metric: MetricDraft,
    type: OtlpMetricType,
    before: OtlpDataPoint[],
  ): Generator<void, OtlpDataPoint[]> {
    const { values } = this;
    const { reader } = values;
    const points = metric.type === type ? before : [];
    if (metric.type !== type) setType(metric, type);
    const outerEnd = values.enter();
    while (reader.pos < reader.len) {
      const tag = reader.tag();
      if (tag === 10 /* data_points = 1 */) {
        points.push(readPoint(values, metric, type));
      } else if (tag === 16 /* aggregation_temporality = 2 */ && metric.temporality !== null) {
        metric.temporality = TEMPORALITIES[reader.int32()] ?? 'unspecified';
      } else if (tag === 24 /* is_monotonic = 3 */ && metric.isMonotonic !== null) {
        metric.isMonotonic = reader.bool();
      } else {
        values.skip(tag);
      }
      if (this.points.isPauseDue()) yield;
    }
    values.leave(outerEnd);
    return points;
  }
}
