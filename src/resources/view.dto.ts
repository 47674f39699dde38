/** When a resource was created, changed and archived, and by whom it was created. */
export class StampsDto {
  created_at!: Date;
  updated_at!: Date;
  created_by!: string;
  archived_at!: Date | null;
}

/** Returns the given members of a row, for its view. */
export function pick<Row extends object, Field extends keyof Row>(
  row: Row,
  fields: readonly Field[],
): Pick<Row, Field> {
  const view = {} as Pick<Row, Field>;
  for (const field of fields) view[field] = row[field];
  return view;
}
