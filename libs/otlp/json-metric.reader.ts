import { JsonEnvelopeReader } from './json-envelope.reader';
import { JsonPointReader } from './json-point.reader';
import type { JsonObject } from './json-value.reader';
import { setType, faultOfMetric, type MetricDraft, newMetric } from './metric.draft';
import { type OtlpDataPoint, type OtlpMetricType, TEMPORALITIES } from './metric.types';
import type { OtlpResource, OtlpScope } from './otlp.types';
import type { RecordCollector } from './record.collector';

/** Reads an ExportMetricsServiceRequest in JSON: the metrics of metrics.proto of opentelemetry-proto. */
export class JsonMetricReader extends JsonEnvelopeReader {
  private readonly pointReader: JsonPointReader;

  constructor(
    bytes: Buffer,
    private readonly points: RecordCollector<OtlpDataPoint>,
  ) {
    super(bytes, 'metrics', points);
    this.pointReader = new JsonPointReader(this.values);
  }

  protected override item(item: unknown, resource: OtlpResource, scope: OtlpScope): void {
    const { values, points } = this;
    const metric = newMetric(resource, scope);
    const sent = this.metric(values.element(item, 'a metric'), metric);
    const fault = values.takeFault() ?? faultOfMetric(metric);
    for (const one of sent) {
      const point = this.pointReader.point(one, metric);
      const faultOfPoint = values.takeFault();
      points.collect(point, fault ?? faultOfPoint);
    }
    if (fault !== undefined && sent.length === 0) {
      points.reject(fault);
    }
  }

  /** Reads a metric except its points. Returns the points as sent. */
  private metric(source: JsonObject, metric: MetricDraft): readonly unknown[] {
    const { values } = this;
    metric.name = values.text(source.name, 'name');
    metric.description = values.text(source.description, 'description');
    metric.unit = values.text(source.unit, 'unit');
    metric.metadata = values.attributes(source.metadata);
    const [type, content] = dataOf(source);
    if (type === undefined) return [];
    setType(metric, type);
    const data = values.object(content, type);
    if (metric.temporality !== null) {
      const temporality = data.aggregationTemporality ?? data.aggregation_temporality;
      const field = 'aggregationTemporality';
      metric.temporality = values.enumeration(temporality, TEMPORALITIES, 'AGGREGATION_TEMPORALITY_', field);
    }
    if (metric.isMonotonic !== null) {
      metric.isMonotonic = values.boolean(data.isMonotonic ?? data.is_monotonic, 'isMonotonic');
    }
    return values.list(data.dataPoints ?? data.data_points, 'dataPoints');
  }
}

/** Returns the data of a metric, with its type. If several are set, although they exclude each other, the first counts. */
function dataOf(source: JsonObject): [type: OtlpMetricType, content: unknown] | [] {
  const members: [OtlpMetricType, unknown][] = [
    ['gauge', source.gauge],
    ['sum', source.sum],
    ['histogram', source.histogram],
    ['exponential_histogram', source.exponentialHistogram ?? source.exponential_histogram],
    ['summary', source.summary],
  ];
  return members.find(([, content]) => content !== undefined && content !== null) ?? [];
}
