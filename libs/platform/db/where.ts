import type { TenantKey } from '#platform/auth';
import { prefixQuery } from './text-search';

/**
 * The conditions of a SELECT, and their parameters. It can only be made from a tenant key, so a list cannot forget
 * whose rows it reads. Column names come from the code, values only ever as parameters.
 */
export class Where {
  readonly values: unknown[] = [];
  private readonly conditions: string[] = [];

  /** @param alias of the table that carries the tenant's column. */
  constructor(tenant: TenantKey, alias?: string) {
    this.add(`${alias ? `${alias}.` : ''}${tenant.column} = ?`, tenant.value);
  }

  /**
   * The tenant's rows, of which the planner expects as many as tenants have on average. Of a tenant that the statistics
   * do not know it would expect none, and plan joins by which all rows are read for each.
   */
  static estimatedByAverage({ column, value }: TenantKey): Where {
    const where = Where.acrossTenants();
    where.conditions[0] = `${column} = (SELECT ${where.parameter(value)})`;
    return where;
  }

  /** The rows of all tenants: for what platform principals, or the service itself, do across organizations. */
  static acrossTenants(): Where {
    const where = Object.create(Where.prototype) as { values: unknown[]; conditions: string[] };
    where.values = [];
    where.conditions = ['true'];
    return where as unknown as Where;
  }

  /** Adds a condition in which every `?` stands for the next of `values`. */
  add(condition: string, ...values: unknown[]): this {
    let next = 0;
    const text = condition.replace(/\?/g, () => this.parameter(values[next++]));
    this.conditions.push(text);
    return this;
  }

  /** Adds the condition only where the value is given. */
  addIf(value: unknown, condition: string): this {
    return value === undefined ? this : this.add(condition, value);
  }

  /**
   * Adds the full-text search for a client's `q`, see `prefixQuery`: what holds no word finds nothing, rather than
   * everything; a `q` that is empty or absent does not narrow.
   */
  addSearch(q: string | undefined): this {
    if (q === undefined || q.trim() === '') return this;
    const words = prefixQuery(q);
    return words === null ? this.add('false') : this.add(`search @@ to_tsquery('simple', ?)`, words);
  }

  /** Adds a value alone, and answers its placeholder, such as `$3`. */
  parameter(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  copy(): Where {
    const copy = Object.create(Where.prototype) as { values: unknown[]; conditions: string[] };
    copy.values = [...this.values];
    copy.conditions = [...this.conditions];
    return copy as unknown as Where;
  }

  toString(): string {
    return this.conditions.join(' AND ');
  }
}
