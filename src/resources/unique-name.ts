import { duplicateOf, explainConstraint, Problem } from '#platform/problem';
import type { ResourceKind, ResourceRow } from './resource-kind';

type Kind<Row extends ResourceRow> = Pick<ResourceKind<Row, unknown>, 'noun' | 'unique'>;

/**
 * A write violates the unique name of its kind. Its transaction has failed, so only the caller of the transaction can look
 * up the resource that has the name.
 */
export class NameTaken<Row> extends Problem {
  constructor(
    readonly row: Row,
    detail: string,
    cause: unknown,
  ) {
    super('conflict', detail, { cause });
  }
}

/** The 409 for a name that another resource has. */
export class NameConflict extends Problem {
  constructor(detail: string) {
    super('conflict', detail);
  }
}

/** The 409 for a name that moved between resources while a request looked it up and used it. */
export class NameChanged extends Problem {
  constructor() {
    super('conflict', 'Other requests are changing which resource has this name. Send the request again.');
  }
}

/** Runs a write of a row. Throws `NameTaken` when another resource has its name. */
export async function withUniqueName<Row extends ResourceRow>(
  kind: Kind<Row>,
  row: Row,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    const isTaken = kind.unique && duplicateOf(error) === kind.unique.constraint;
    throw isTaken ? new NameTaken(row, takenDetail(kind), error) : error;
  }
}

/** Declares the 409 for the kind's unique constraint. It also applies to statements that write many rows. */
export function explainUniqueName<Row extends ResourceRow>(kind: Kind<Row>): void {
  if (kind.unique) explainConstraint(kind.unique.constraint, 'conflict', takenDetail(kind));
}

/** Returns the detail of a 409. @param id of the resource that has the name, if the caller may read it */
export function takenDetail<Row extends ResourceRow>({ noun, unique }: Kind<Row>, id?: string): string {
  const { field, within = 'workspace' } = unique!;
  const article = /^(?!us)[aeiou]/i.test(noun) ? 'an' : 'a';
  return `The ${within} already has ${article} ${noun} with this ${field}${id === undefined ? '' : `: ${id}`}.`;
}
