import { Injectable } from '@nestjs/common';
import { type DecodedMetricsRequest, decodeMetricsRequest, type OtlpMetric } from '#otlp';
import { ExportMetrics } from '../exports/export.metrics';
import { GroupSlots } from '../exports/group-slots';
import { ExportQueue } from '../exports/export-queue';
import { ExportWriter } from '../exports/export.writer';
import { storeProblem } from '../exports/store-problem';
import { toPointRows } from './metric-point';
import { MetricWriteRepository } from './metric-write.repository';

/** What is stored of a metric with each of its points. */
const toldOfMetric = ({ name, unit, description, metadata }: OtlpMetric): string =>
  JSON.stringify([name, unit, description, metadata]);

/** Takes exports of metrics. */
@Injectable()
export class MetricExportService extends ExportQueue<DecodedMetricsRequest> {
  constructor(
    writer: ExportWriter,
    points: MetricWriteRepository,
    metrics: ExportMetrics,
    slots: GroupSlots,
  ) {
    super(metrics, slots, {
      signal: 'metrics',
      decode: decodeMetricsRequest,
      addRepeated: (repeated, { dataPoints }) => {
        repeated.addSources(dataPoints.map(({ metric }) => metric));
        for (const { metric } of dataPoints) repeated.add(metric, toldOfMetric);
      },
      store: async (exports) => {
        const rows = exports.map(({ scope: { workspaceId }, body, request }) => ({
          workspaceId,
          body,
          isTimed: request.dataPoints.every((point) => point.timeUnixNano > 0n),
          rows: toPointRows(workspaceId, request.dataPoints),
        }));
        try {
          await writer.write('metric_points', rows, (tx, fresh) => points.insertMany(tx, fresh));
        } catch (error) {
          throw storeProblem(error, 'Metrics cannot be stored at the moment. Try again.');
        }
      },
    });
  }
}
