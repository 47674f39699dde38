import { getMetadataArgsStorage, type ObjectLiteral } from 'typeorm';
import { join, raw, type Sql, sql } from './sql';
import type { PreparedStatement } from './executor';

/** The class of a TypeORM entity. */
export type EntityClass<Row> = new () => Row;

type ToParameter = (value: unknown) => unknown;

/**
 * The table of a TypeORM entity, for hand-written statements. TypeORM builds and parses its queries again for each call,
 * which takes several times as long as a read by key.
 */
export class EntityTable<Row extends ObjectLiteral> {
  readonly name: string;
  /** All columns, to follow SELECT. */
  readonly columns: string;
  private readonly parameters: ReadonlyMap<string, ToParameter>;
  /** The statements for inserting rows, by the columns of the row. */
  private readonly inserts = new Map<string, { name: string; text: string }>();

  constructor(entity: EntityClass<Row>) {
    const storage = getMetadataArgsStorage();
    const { name } = storage.tables.find(({ target }) => target === entity) ?? {};
    if (name === undefined) throw new Error(`${entity.name} is not an entity.`);
    const columns = storage.filterColumns(withBases(entity));
    this.name = name;
    this.columns = columns.map(({ propertyName }) => propertyName).join(', ');
    this.parameters = new Map(
      columns.map(({ propertyName, options: { type, transformer } }) => {
        const transform = transformer as { to: ToParameter } | undefined;
        const toParameter = transform?.to ?? (type === 'jsonb' ? jsonText : (value: unknown) => value);
        return [propertyName, toParameter];
      }),
    );
  }

  has(column: string): boolean {
    return this.parameters.has(column);
  }

  /** Returns a statement that inserts a row. Columns that are undefined get their default. */
  insertion(row: Row): PreparedStatement {
    const assigned = [...this.parameters].filter(([column]) => row[column] !== undefined);
    const columns = assigned.map(([column]) => column).join(', ');
    let insert = this.inserts.get(columns);
    if (!insert) {
      const placeholders = assigned.map((_, index) => `$${index + 1}`).join(', ');
      const text = `INSERT INTO ${this.name} (${columns}) VALUES (${placeholders})`;
      insert = { name: `${this.name}.insert-${this.inserts.size}`, text };
      this.inserts.set(columns, insert);
    }
    return { ...insert, values: assigned.map(([column, toParameter]) => toParameter(row[column])) };
  }

  /** Returns the changed columns, to follow SET in an UPDATE. Null if nothing changes. */
  assignments(changes: Partial<Row>): Sql | null {
    const assigned = [...this.parameters].filter(([column]) => changes[column] !== undefined);
    if (assigned.length === 0) return null;
    return join(
      assigned.map(([column, toParameter]) => sql`${raw(column)} = ${toParameter(changes[column])}`),
      ', ',
    );
  }
}

const jsonText: ToParameter = (value) => (value === null ? null : JSON.stringify(value));

/** Returns a class and the classes that it extends, in the order in which TypeORM collects their columns. */
function withBases(entity: object): (new () => unknown)[] {
  const classes: (new () => unknown)[] = [];
  for (
    let one = entity as new () => unknown;
    one.prototype;
    one = Object.getPrototypeOf(one) as new () => unknown
  )
    classes.push(one);
  return classes;
}
