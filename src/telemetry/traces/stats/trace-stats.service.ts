import { Injectable } from '@nestjs/common';
import type { Scope } from '#platform/auth';
import { firstMicrosecond } from '#platform/http';
import { TraceStore } from '../trace-store';
import {
  SPAN_STATS_FIELDS,
  type SpanStatsQueryDto,
  TELEMETRY_STATS_FIELDS,
  type TelemetryTraceStatsDto,
  type TelemetryTraceStatsQueryDto,
} from './trace-stats.dto';
import { checkStatsValues, readStatsQuery, type StatsQueryInput } from './trace-stats-query';

/** The time range of a query without `since`, in microseconds. */
const PERIOD_US = 7n * 86_400_000_000n;

type Query = Pick<TelemetryTraceStatsQueryDto, 'since' | 'until'> & StatsQueryInput;

/** Computes statistics of the traces of a workspace, and of their spans. */
@Injectable()
export class TelemetryTraceStatsService {
  constructor(private readonly store: TraceStore) {}

  /**
   * Returns statistics of the traces that started in a time range. Errors: 400 for a query that contradicts itself; 422 for
   * unknown names; 503 if reading takes too long.
   */
  query(
    scope: Scope,
    dto: TelemetryTraceStatsQueryDto,
    signal: AbortSignal,
  ): Promise<TelemetryTraceStatsDto> {
    return this.stats(scope, dto, { fields: TELEMETRY_STATS_FIELDS, isOverSpans: false }, signal);
  }

  /** Returns statistics of the spans of the traces that started in a time range. Errors as of `query`. */
  querySpans(scope: Scope, dto: SpanStatsQueryDto, signal: AbortSignal): Promise<TelemetryTraceStatsDto> {
    return this.stats(scope, dto, { fields: SPAN_STATS_FIELDS, isOverSpans: true }, signal);
  }

  private async stats(
    scope: Scope,
    dto: Query,
    { fields, isOverSpans }: { fields: readonly string[]; isOverSpans: boolean },
    signal: AbortSignal,
  ): Promise<TelemetryTraceStatsDto> {
    const query = readStatsQuery(dto, fields);
    checkStatsValues(dto);
    const since = dto.since === undefined ? undefined : firstMicrosecond(dto.since);
    const now_us = BigInt(Date.now()) * 1000n;
    const until_us = dto.until === undefined ? max(now_us, since ?? now_us) : firstMicrosecond(dto.until);
    const since_us = since ?? until_us - PERIOD_US;
    const among = { since_us, until_us };
    const { rows, isTruncated } = await this.store
      .withSignal(signal)
      .stats(scope, { ...query, among, isOverSpans });
    return { rows, since: timeOf(since_us), until: timeOf(until_us), is_truncated: isTruncated };
  }
}

const max = (one: bigint, other: bigint): bigint => (one > other ? one : other);

const timeOf = (us: bigint): Date => new Date(Number(us / 1000n));
