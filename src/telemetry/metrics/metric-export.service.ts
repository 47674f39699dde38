import { Injectable } from '@nestjs/common';
import { type DecodedMetricsRequest, decodeMetricsRequest } from '#otlp';
import { ExportMetrics } from '../exports/export.metrics';
import { GroupSlots } from '../exports/group-slots';
import { ExportQueue } from '../exports/export-queue';
import { ExportWriter } from '../exports/export.writer';
import { storeProblem } from '../exports/store-problem';
import { toPointRows } from './metric-point';
import { MetricWriteRepository } from './metric-write.repository';

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
      store: async (exports) => {
        const rows = exports.map(({ scope: { workspaceId }, body, request }) => ({
          workspaceId,
          body,
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
