import { Injectable } from '@nestjs/common';
import { type DecodedLogsRequest, REQUEST_DECODERS } from '#otlp';
import type { Scope } from '#platform/auth';
import { type Page, toPage } from '#platform/paging';
import { LogDeleteRepository } from '../deletion/log-delete.repository';
import { countRefused, type Refusable, Refusals, usersOf } from '../deletion/refusals';
import { ExportQueue, ExportResources } from '../exports/export-queue';
import { EvaluationEvents, scoresInLog, warningsForLogs } from '../evaluation-events/evaluation-event';
import { type ExportedRecords, ExportWriter } from '../exports/export.writer';
import { ReadLimiter } from '../read-limiter';
import { LogListRepository } from './log-list.repository';
import { type LogRow, LogWriteRepository, toLogRows } from './log-write.repository';
import { type LogListQueryDto, type LogRecordDto, toLogRecordDto } from './log.dto';

const HINT = 'Narrow the times (since, until) or the filters.';

/** Reads logs. Errors: 503 if reading takes too long. */
@Injectable()
export class LogService {
  constructor(private readonly limiter: ReadLimiter) {}

  async list(scope: Scope, query: LogListQueryDto, signal: AbortSignal): Promise<Page<LogRecordDto>> {
    const logs = await this.limiter.read(scope, HINT, (on) => new LogListRepository(on).list(scope, query), {
      noun: 'logs',
      signal,
    });
    return toPage(logs, toLogRecordDto);
  }
}

function toRefusable({ workspaceId, record, happenedAt, observedAt }: LogRow): Refusable {
  const { traceId, attributes } = record;
  return {
    workspaceId,
    traceId,
    userIds: usersOf(attributes),
    at: happenedAt ?? observedAt,
  };
}

/** Stores exports of logs. */
@Injectable()
export class LogExportService extends ExportQueue<DecodedLogsRequest, ExportedRecords<LogRow>> {
  constructor(
    writer: ExportWriter,
    logs: LogWriteRepository,
    resources: ExportResources,
    evaluations: EvaluationEvents,
    deletions: LogDeleteRepository,
    refusals: Refusals,
  ) {
    super(resources, {
      signal: 'logs',
      decoder: REQUEST_DECODERS.logs,
      *mask(masker, { logRecords }) {
        for (const record of logRecords) {
          yield* masker.logRecord(record);
          yield;
        }
      },
      addRepeated: (repeated, { logRecords }) => repeated.addSources(logRecords),
      warnings: ({ logRecords }, scope) => warningsForLogs(scope, logRecords),
      *prepare({ logRecords }, { scope, body }) {
        return {
          workspaceId: scope.workspaceId,
          body,
          isTimed: logRecords.every((one) => one.timeUnixNano + one.observedTimeUnixNano > 0n),
          rows: yield* toLogRows(scope, logRecords),
        };
      },
      store: async (exports) => {
        const refused = await writer.write(
          'log_records',
          exports.map(({ ready }) => ready),
          {
            lock: (tx, workspaceIds) => deletions.lock(tx, workspaceIds, 'shared'),
            refuse: (tx, rows) => refusals.find(tx, rows, toRefusable),
            insert: (tx, rows) => logs.insertMany(tx, rows),
            finish: (tx, rows) =>
              evaluations.store(
                tx,
                rows.flatMap(({ scope, record }) => scoresInLog(scope, record)),
              ),
          },
        );
        if (refused.size === 0) return undefined;
        return exports.map(({ ready }) => countRefused(ready.rows.map((row) => refused.get(row))));
      },
    });
  }
}
