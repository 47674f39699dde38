import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import type { Page } from '#platform/paging';
import { TelemetryReading } from '../telemetry-reading';
import type { LogRecordDto } from './log.dto';
import { LogListRepository } from './log-list.repository';
import { toLogRecordDto } from './log.mapper';
import { type LogListQueryDto, toLogFilters } from './log-query.dto';

const HINT = 'Narrow the times (since, until) or the filters.';

/** Logs as they are read. Errors: 503 when they cannot be read, or not in time. */
@Injectable()
export class LogService {
  constructor(private readonly reading: TelemetryReading) {}

  async list(scope: Scope, query: LogListQueryDto, signal: AbortSignal): Promise<Page<LogRecordDto>> {
    const { rows, page } = await this.reading.read(
      scope,
      HINT,
      (on) => new LogListRepository(on).list(scope, toLogFilters(query), query),
      { what: 'logs', signal },
    );
    return { items: rows.map(toLogRecordDto), page };
  }
}
