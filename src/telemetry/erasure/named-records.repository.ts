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
import { ArrivalRepository } from './arrival.repository';

/** Records per batch. */
const BATCH = 2_000;

/** A table of records, and the columns that order it within a workspace. */
interface RecordTable {
  table: 'log_records' | 'metric_points';
  time: string;
  number: string;
  /** Whether its records have exemplars, with attributes of their own. */
  hasExemplars?: boolean;
}

/** The place of a record. */
type Place = [us: string, no: string];

/**
 * Deletes log records and data points that name an end user in their own attributes, whatever their trace: those that are older
 * than the request, and those that had arrived with a time in the future. Points whose exemplars name the user lose these.
 */
abstract class NamedRecordsRepository implements ErasureStep {
  readonly subjects = ['end_user'] as const;
  readonly phase = 'erase';
  abstract readonly name: string;
  protected abstract readonly of: RecordTable;

  constructor(private readonly arrivals: ArrivalRepository) {}

  async run(tx: Tx, erasure: ErasureRun, cursor: string | null): Promise<ErasureBatch> {
    const { workspaceId, id, requestedAt, isDryRun } = erasure;
    const { table, time, number, hasExemplars } = this.of;
    const [at, no] = [raw(time), raw(number)];
    const after: Sql = cursor === null ? empty : afterPlace(time, number, JSON.parse(cursor) as Place);
    const [last] = await tx.query<{ us: string; no: string }>(
      sql`SELECT ${timeToMicroseconds(raw(time))}::text AS us, ${no}::text AS no FROM ${raw(table)}
        WHERE workspace_id = ${workspaceId}${after} ORDER BY ${at}, ${no} OFFSET ${BATCH - 1} LIMIT 1`,
    );
    const to = last
      ? sql` AND (${at}, ${no}) <= (${microsecondsToTime(sql`${last.us}::bigint`)}, ${last.no}::bigint)`
      : empty;
    const arrival = await this.arrivals.find(tx, erasure);
    const isOlder = sql`(${at} < ${requestedAt}
      OR (${no} <= ${arrival[table]}::bigint AND ${at} > ${microsecondsToTime(sql`${arrival.us}::bigint`)}))`;
    const range = sql`workspace_id = ${workspaceId}${after}${to} AND ${isOlder}`;
    const named = sql`${range} AND ${namesUser(sql`attributes`, id)}`;
    const inExemplars = sql`${range} AND NOT ${namesUser(sql`attributes`, id)} AND exemplars IS NOT NULL
      AND EXISTS (SELECT FROM json_array_elements(exemplars) e WHERE ${namesUser(sql`(e -> 'attributes')`, id)})`;
    const [row] = await tx.query<{ count: number }>(
      isDryRun
        ? sql`SELECT count(*) AS count FROM ${raw(table)} WHERE ${named} ${hasExemplars ? sql`OR ${inExemplars}` : empty}`
        : sql`WITH deleted AS (DELETE FROM ${raw(table)} WHERE ${named} RETURNING 1)
            ${hasExemplars ? sql`, updated AS (UPDATE ${raw(table)} SET exemplars = NULL WHERE ${inExemplars} RETURNING 1)` : empty}
            SELECT (SELECT count(*) FROM deleted) ${hasExemplars ? sql`+ (SELECT count(*) FROM updated)` : empty} AS count`,
    );
    const next = last ? JSON.stringify([last.us, last.no]) : null;
    return { counts: { [this.name]: row!.count }, next };
  }
}

/** Whether attributes name a user. Null counts as false. */
const namesUser = (attributes: Sql, id: string): Sql =>
  sql`coalesce(${join(
    USER_ATTRIBUTES.map((name) => sql`${attributes} ->> ${name}::text = ${id}`),
    ' OR ',
  )}, false)`;

const afterPlace = (time: string, number: string, [us, no]: Place): Sql =>
  sql` AND (${raw(time)}, ${raw(number)}) > (${microsecondsToTime(sql`${us}::bigint`)}, ${no}::bigint)`;

@Injectable()
export class NamedLogsRepository extends NamedRecordsRepository {
  readonly name = 'logs';
  protected readonly of = { table: 'log_records', time: 'logged_at', number: 'log_no' } as const;

  constructor(steps: ErasureSteps, arrivals: ArrivalRepository) {
    super(arrivals);
    steps.add(this);
  }
}

@Injectable()
export class NamedMetricsRepository extends NamedRecordsRepository {
  readonly name = 'metric_points';
  protected readonly of = {
    table: 'metric_points',
    time: 'measured_at',
    number: 'point_no',
    hasExemplars: true,
  } as const;

  constructor(steps: ErasureSteps, arrivals: ArrivalRepository) {
    super(arrivals);
    steps.add(this);
  }
}
