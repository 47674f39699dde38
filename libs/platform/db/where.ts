import { problem } from '#platform/problem';
import type { TenantKey } from '#platform/scope';
import { join, raw, type Sql, sql } from './sql';

/** Conditions of a `Where`. Not exported, so that only this file can create a `Where` without a tenant key. */
class Conditions {
  constructor(readonly all: readonly Sql[]) {}
}

/** Whether an index finds the rows of a filter in the order of their creation. */
type Filter = 'scattered' | 'in order' | 'in order, also within a part';

/**
 * The conditions of a SELECT. It can only be created from a tenant key, so that a list cannot forget its tenant. Column
 * names come from the code, and values are always sent as parameters.
 */
export class Where {
  private readonly conditions: Sql[];
  private readonly filters: Filter[] = [];
  private isOfPart = false;

  /** @param alias of the table that has the tenant's column */
  constructor(from: TenantKey | Conditions, alias?: string) {
    if (from instanceof Conditions) {
      this.conditions = [...from.all];
    } else {
      const column = raw(`${alias ? `${alias}.` : ''}${from.column}`);
      this.conditions = [sql`${column} = ${from.value}`];
    }
  }

  /**
   * Selects the tenant's rows so that the planner estimates their number by the average of all tenants. For a tenant
   * without statistics the planner would expect no rows, and choose joins that read all rows for each row.
   */
  static estimatedByAverage({ column, value }: TenantKey): Where {
    return new Where(new Conditions([sql`${raw(column)} = (SELECT ${value})`]));
  }

  /** Selects the rows of all tenants. Only for platform principals and for the service itself. */
  static acrossTenants(): Where {
    return new Where(new Conditions([sql`true`]));
  }

  add(condition: Sql): this {
    this.conditions.push(condition);
    return this;
  }

  /**
   * Restricts the rows to a part of the tenant, such as a workspace of an organization. An index finds them in each order
   * of the list, but not in combination with a filter added by `addIndexed`.
   */
  addPart(condition: Sql): this {
    this.isOfPart = true;
    return this.add(condition);
  }

  /** Adds the condition if the value is given. No index finds such rows in the order of a list. */
  addIf<Value>(value: Value | undefined, condition: (value: Value) => Sql): this {
    return value === undefined ? this : this.addScattered(condition(value));
  }

  /** Adds the condition if the value is given. An index finds such rows of the tenant in the order of their creation. */
  addIndexed<Value>(value: Value | undefined, condition: (value: Value) => Sql): this {
    return value === undefined ? this : this.addFilter('in order', condition(value));
  }

  /** Like `addIndexed`, for an index that also finds such rows of a part (`addPart`) in the order of their creation. */
  addIndexedInParts<Value>(value: Value | undefined, condition: (value: Value) => Sql): this {
    return value === undefined ? this : this.addFilter('in order, also within a part', condition(value));
  }

  /** Adds a condition on rows that no index finds in the order of a list. */
  addScattered(condition: Sql): this {
    return this.addFilter('scattered', condition);
  }

  private addFilter(filter: Filter, condition: Sql): this {
    this.filters.push(filter);
    return this.add(condition);
  }

  /**
   * Adds the full-text search for a client's `q`, see `wordsOf`. A `q` without words matches nothing. An empty or
   * missing `q` matches everything.
   *
   * @param unfilled the words of a row whose `search` is still NULL; none if the database always fills it
   */
  addSearch(q: string | undefined, unfilled?: Sql): this {
    if (q === undefined || q.trim() === '') return this;
    const words = wordsOf(q);
    if (words === null) return this.addScattered(sql`false`);
    const matches = sql`@@ search_prefixes(${words})`;
    const filled = sql`search ${matches}`;
    return this.addScattered(
      unfilled ? sql`(${filled} OR (search IS NULL AND ${unfilled} ${matches}))` : filled,
    );
  }

  /** Whether there are conditions from other methods than `add` and `addPart`. */
  get isFiltered(): boolean {
    return this.filters.length > 0;
  }

  /** Whether the index of one filter finds the rows. */
  get isOfOneFilter(): boolean {
    const [filter, ...others] = this.filters;
    if (others.length > 0) return false;
    return filter === 'in order, also within a part' || (filter === 'in order' && !this.isOfPart);
  }

  /**
   * Whether an index finds the rows in the order of a list. Then a page can be read from the index alone, and reads no
   * further rows.
   */
  isInOrder(byCreation: boolean): boolean {
    return !this.isFiltered || (byCreation && this.isOfOneFilter);
  }

  copy(): Where {
    const where = new Where(new Conditions(this.conditions));
    where.filters.push(...this.filters);
    where.isOfPart = this.isOfPart;
    return where;
  }

  /** The conditions, to follow WHERE in a template. */
  get sql(): Sql {
    return join(this.conditions, ' AND ');
  }
}

/** Separators of words, as in the database's function `search_words`: blanks, and punctuation of ASCII. */
const SEPARATORS = /[\s!-/:-@[-`{-~]+/;

/** Maximum number of words of a search, because each word is a separate search. */
const MAX_WORDS = 32;

/**
 * Returns the words of a client's `q`, for the database's function `search_prefixes`. Every word must occur, and the last
 * letters of each may be missing. Null for a `q` without words.
 *
 * @throws 400 `invalid_query` for more than 32 words
 */
function wordsOf(q: string): string | null {
  const words = q.split(SEPARATORS).filter((word) => /[\p{L}\p{N}]/u.test(word));
  if (words.length > MAX_WORDS) throw problem.invalidQuery('q', `must have at most ${MAX_WORDS} words`);
  return words.length === 0 ? null : words.join(' ');
}
