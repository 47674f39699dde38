import { Injectable } from '@nestjs/common';
import {
  empty,
  join,
  microsecondsToTime,
  raw,
  type Sql,
  sql,
  timeToMicroseconds,
  type Tx,
} from '#platform/db';
import { type ErasureBatch, type ErasureRun, type ErasureStep, ErasureSteps } from '../../resources';
import { USER_ATTRIBUTES } from '../deletion/refusals';

/** Records per batch. */
const BATCH = 2_000;

/** A table of records, and the columns that order it within a workspace. */
interface RecordTable {
  table: string;
  time: string;
  number: string;
}

/** The place of a record. */
type Place = [us: string, no: string];

/** Deletes log records and metric points that name an end user in their own attributes, whatever their trace. */
abstract class NamedRecordsRepository implements ErasureStep {
  readonly subjects = ['end_user'] as const;
  readonly phase = 'erase';
  abstract readonly name: string;
  protected abstract readonly of: RecordTable;

  async run(
    tx: Tx,
    { workspaceId, id, requestedAt, isDryRun }: ErasureRun,
    cursor: string | null,
  ): Promise<ErasureBatch> {
    const { table, time, number } = this.of;
    const [at, no] = [raw(time), raw(number)];
    const after: Sql = cursor === null ? empty : afterPlace(time, number, JSON.parse(cursor) as Place);
    const [last] = await tx.query<{ us: string; no: string }>(
      sql`SELECT ${timeToMicroseconds(raw(time))}::text AS us, ${no}::text AS no FROM ${raw(table)}
        WHERE workspace_id = ${workspaceId}${after} ORDER BY ${at}, ${no} OFFSET ${BATCH - 1} LIMIT 1`,
    );
    const to = last
      ? sql` AND (${at}, ${no}) <= (${microsecondsToTime(sql`${last.us}::bigint`)}, ${last.no}::bigint)`
      : empty;
    const names = join(
      USER_ATTRIBUTES.map((name) => sql`attributes ->> ${name}::text = ${id}`),
      ' OR ',
      '(',
      ')',
    );
    const which = sql`workspace_id = ${workspaceId}${after}${to} AND ${names} AND ${at} < ${requestedAt}`;
    const [row] = await tx.query<{ count: number }>(
      isDryRun
        ? sql`SELECT count(*) AS count FROM ${raw(table)} WHERE ${which}`
        : sql`WITH deleted AS (DELETE FROM ${raw(table)} WHERE ${which} RETURNING 1)
            SELECT count(*) AS count FROM deleted`,
    );
    const next = last ? JSON.stringify([last.us, last.no]) : null;
    return { counts: { [this.name]: row!.count }, next };
  }
}

const afterPlace = (time: string, number: string, [us, no]: Place): Sql =>
  sql` AND (${raw(time)}, ${raw(number)}) > (${microsecondsToTime(sql`${us}::bigint`)}, ${no}::bigint)`;

@Injectable()
export class NamedLogsRepository extends NamedRecordsRepository {
  readonly name = 'logs';
  protected readonly of = { table: 'log_records', time: 'logged_at', number: 'log_no' };

  constructor(steps: ErasureSteps) {
    super();
    steps.add(this);
  }
}

@Injectable()
export class NamedMetricsRepository extends NamedRecordsRepository {
  readonly name = 'metric_points';
  protected readonly of = { table: 'metric_points', time: 'measured_at', number: 'point_no' };

  constructor(steps: ErasureSteps) {
    super();
    steps.add(this);
  }
}
