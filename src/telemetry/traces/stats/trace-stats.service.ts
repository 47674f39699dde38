import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { firstMicrosecond } from '#platform/http';
import { TraceStore } from '../trace-store';
import {
  TELEMETRY_STATS_FIELDS,
  type TelemetryTraceStatsDto,
  type TelemetryTraceStatsQueryDto,
} from './trace-stats.dto';
import { checkStatsValues, readStatsQuery } from './trace-stats-query';

/** The time range of a query without `since`, in microseconds. */
const PERIOD_US = 7n * 86_400_000_000n;

/** Computes statistics of the traces of a workspace. */
@Injectable()
export class TelemetryTraceStatsService {
  constructor(private readonly store: TraceStore) {}

  /**
   * Returns statistics of the traces that started in a time range. Errors: 400 for a query that contradicts itself; 422 for
   * unknown names; 503 if reading takes too long.
   */
  async query(
    scope: Scope,
    dto: TelemetryTraceStatsQueryDto,
    signal: AbortSignal,
  ): Promise<TelemetryTraceStatsDto> {
    const query = readStatsQuery(dto, TELEMETRY_STATS_FIELDS);
    checkStatsValues(dto);
    const since = dto.since === undefined ? undefined : firstMicrosecond(dto.since);
    const now_us = BigInt(Date.now()) * 1000n;
    const until_us = dto.until === undefined ? max(now_us, since ?? now_us) : firstMicrosecond(dto.until);
    const since_us = since ?? until_us - PERIOD_US;
    const among = { since_us, until_us };
    const { rows, isTruncated } = await this.store.withSignal(signal).stats(scope, { ...query, among });
    return { rows, since: timeOf(since_us), until: timeOf(until_us), is_truncated: isTruncated };
  }
}

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other);

const timeOf = (us: bigint): Date => new Date(Number(us / 1000n));
