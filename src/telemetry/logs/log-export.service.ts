import { Injectable } from '@nestjs/common';
import { type DecodedLogsRequest, decodeLogsRequest } from '#otlp';
import { ExportMetrics } from '../exports/export.metrics';
import { GroupSlots } from '../exports/group-slots';
import { ExportQueue } from '../exports/export-queue';
import { ExportWriter } from '../exports/export.writer';
import { storeProblem } from '../exports/store-problem';
import { toLogRows } from './log-record';
import { LogWriteRepository } from './log-write.repository';

/** Takes exports of logs. */
@Injectable()
export class LogExportService extends ExportQueue<DecodedLogsRequest> {
  constructor(writer: ExportWriter, logs: LogWriteRepository, metrics: ExportMetrics, slots: GroupSlots) {
    super(metrics, slots, {
      signal: 'logs',
      decode: decodeLogsRequest,
      addRepeated: (repeated, { logRecords }) => repeated.addSources(logRecords),
      store: async (exports) => {
        const rows = exports.map(({ scope: { workspaceId }, body, request }) => ({
          workspaceId,
          body,
          isTimed: request.logRecords.every((one) => one.timeUnixNano + one.observedTimeUnixNano > 0n),
          rows: toLogRows(workspaceId, request.logRecords),
        }));
        try {
          await writer.write('log_records', rows, (tx, fresh) => logs.insertMany(tx, fresh));
        } catch (error) {
          throw storeProblem(error, 'Logs cannot be stored at the moment. Try again.');
        }
      },
    });
  }
}
