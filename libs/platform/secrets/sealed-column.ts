import { explainConstraint } from '#platform/problem';

/** What a secret is sealed for: one row of one column. */
export type SecretUse = string & { readonly isSecretUse: true };

/**
 * A column with sealed secrets. A generated column beside it, `<column>_sealed_by`, has the id of the key. It refers to
 * `secrets_keys`, so that no secret can be stored under a key that is no longer in use.
 *
 * Every column must be in `SEALED_COLUMNS`, because `rotate-secrets` re-encrypts only those.
 */
export class SealedColumn {
  /** @param key the primary key of the table */
  constructor(
    readonly table: string,
    readonly column: string,
    readonly key: string,
  ) {
    explainConstraint(
      `${table}_${this.sealedBy}_fkey`,
      'service_unavailable',
      'The key for stored secrets has just changed. Try again.',
    );
  }

  /** The column with the id of the key. */
  get sealedBy(): string {
    return `${this.column}_sealed_by`;
  }

  /** Returns what the secret of a row is sealed for, so that it cannot be opened in another row or column. */
  of(id: string): SecretUse {
    return `${this.table}.${this.column}:${id}` as SecretUse;
  }
}
