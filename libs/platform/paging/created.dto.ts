import { join, raw, type Sql, sql, type Where } from '#platform/db';
import { firstMillisecond, instantOf, NotBelow, IsOptionalTime } from '#platform/http';
import { firstIdAt, type IdPrefix } from '#platform/ids';
import { NamedListQueryDto } from './page.dto';

const DAY_MS = 24 * 60 * 60 * 1000;

/** Query parameters of lists and searches that filter by the time of creation. */
export class CreatedListQueryDto extends NamedListQueryDto {
  /** Only items created at or after this time (RFC 3339). */
  @IsOptionalTime()
  since?: string;

  /** Only items created before this time (RFC 3339). */
  @IsOptionalTime()
  @NotBelow('since', instantOf)
  until?: string;
}

/** The id column of a resource, and the prefix of its ids. */
interface OwnId {
  prefix: IdPrefix;
  id: string;
  /** The table of the columns, with a dot, if the statement has several. */
  table?: string;
}

/**
 * Returns the conditions that rows were created at or after a time, and before another. Ids contain that time too, unless a
 * clock was set back. The bounds on the ids are a day wider. They let a list in id order start at the right place instead of
 * reading all newer rows.
 */
export function createdWithin(
  { prefix, id, table = '' }: OwnId,
  after: string | undefined,
  before: string | undefined,
): Sql[] {
  const [createdAt, idColumn] = [raw(`${table}created_at`), raw(`${table}${id}`)];
  return [
    ...timesOf(after).map(
      (time) => sql`${createdAt} >= ${time} AND ${idColumn} >= ${firstIdAt(prefix, time.getTime() - DAY_MS)}`,
    ),
    ...timesOf(before).map(
      (time) => sql`${createdAt} < ${time} AND ${idColumn} < ${firstIdAt(prefix, time.getTime() + DAY_MS)}`,
    ),
  ];
}

/** Filters a list by the time of creation. */
export function addCreated(where: Where, id: OwnId, { since, until }: CreatedListQueryDto): void {
  const bounds = createdWithin(id, since, until);
  if (bounds.length > 0) where.addIndexedInParts(join(bounds, ' AND '), (condition) => condition);
}

const timesOf = (text: string | undefined): Date[] => (text === undefined ? [] : [firstMillisecond(text)]);
