import { isJsonObject } from '#platform/json';
import { fieldValueFault } from '#platform/outbound';
import { type FieldError, problem } from '#platform/problem';
import type { SecretBox, SecretUse } from '#platform/secrets';
import type { AuditChange } from '../audit-log/audit-entry.entity';
import { originOf } from './base-url';

/** A member of `auth` other than its type. A member without a column is a secret, which is sealed in `auth_secret`. */
export interface AuthMember<Type extends string, Column extends PropertyKey> {
  column?: Column;
  /** The types that have the member. */
  types: readonly Type[];
  /** Whether these types require the member. Secrets have a separate rule. */
  isRequired?: boolean;
  fault: (text: string, type: Type) => string | null;
  /** Present if the member determines where or how the secret is sent. */
  target?: {
    /** Returns the part of the value that must not change without a new secret. */
    partOf: (text: string, type: Type) => string;
    /** Says in an error that the part changed. */
    changed: string;
  };
}

/** `auth` as sent in a request body, or as it would be after a patch. */
export type AuthInput<Type extends string, Member extends string> = { type: Type } & Partial<
  Record<Member, string | null>
>;

const TYPE_CHANGED = 'the type changed.';
const ORIGIN_CHANGED = "the URL's origin changed. Secrets are never sent to a new origin.";

const either = new Intl.ListFormat('en', { type: 'disjunction' });

/** The `auth` of one kind of target, such as an MCP server: how the service authenticates, with which secret. */
export class TargetAuth<
  Columns extends { auth_type: string },
  Url extends string,
  Member extends string,
  Type extends string = Columns['auth_type'],
> {
  private readonly entries: [Member, AuthMember<Type, keyof Columns>][];

  /** @param url the column of the target's URL */
  constructor(
    private readonly types: readonly Type[],
    private readonly url: Url,
    members: Record<Member, AuthMember<Type, keyof Columns>>,
  ) {
    this.entries = Object.entries(members) as [Member, AuthMember<Type, keyof Columns>][];
  }

  /** Returns the member that holds the secret of a type, or null for `none`. */
  secretMember(type: Type): Member | null {
    return this.entries.find(([, { column, types }]) => !column && types.includes(type))?.[0] ?? null;
  }

  /**
   * Returns the faults of `auth` whose rules depend on its type. Never repeats the secret.
   *
   * @param pointer the JSON pointer of `auth`
   */
  faults(auth: AuthInput<Type, Member>, pointer: string): FieldError[] {
    return this.entries.flatMap(([member, rule]) => {
      const detail = memberFault(rule, auth.type, auth[member]);
      return detail === null ? [] : [{ pointer: `${pointer}/${member}`, detail }];
    });
  }

  /** Returns the faults of `auth` of a new target, which must include the secret. */
  newFaults(auth: AuthInput<Type, Member>, pointer: string): FieldError[] {
    const faults = this.faults(auth, pointer);
    const member = this.secretMember(auth.type);
    if (member === null || auth[member] != null) return faults;
    return [...faults, { pointer: `${pointer}/${member}`, detail: requiredFor(auth.type) }];
  }

  /**
   * Returns a fault for each secret in the `auth` of a declaration.
   *
   * @param operation the operation that takes the secret instead
   */
  declaredSecretFaults(auth: unknown, pointer: string, operation: string): FieldError[] {
    if (!isJsonObject(auth)) return [];
    const detail = `is not allowed here, because everyone who can read the app can read it. Send it with ${operation}.`;
    return this.entries
      .filter(([member, { column }]) => !column && Object.hasOwn(auth, member))
      .map(([member]) => ({ pointer: `${pointer}/${member}`, detail }));
  }

  /** Returns the columns of `auth` without its secret. */
  columns(auth: AuthInput<Type, Member>): Columns {
    const columns = this.entries.flatMap(([member, { column }]) =>
      column ? [[column, auth[member] ?? null]] : [],
    );
    return { auth_type: auth.type, ...Object.fromEntries(columns) } as Columns;
  }

  /** Returns the sealed secret of `auth`, or null without one. @param use the row of the secret */
  sealed(auth: AuthInput<Type, Member>, box: SecretBox, use: SecretUse): string | null {
    const member = this.secretMember(auth.type);
    const secret = member && auth[member];
    return secret == null ? null : box.seal(secret, use);
  }

  /** Returns why the secret of a target must not be sent to another one, or null if it may. */
  changedTarget(current: Columns & Record<Url, string>, next: Columns & Record<Url, string>): string | null {
    const type = next.auth_type as Type;
    if (type !== current.auth_type) return TYPE_CHANGED;
    for (const [, { column, target }] of this.entries) {
      if (!column || !target) continue;
      const [before, after] = [current, next].map((row) => {
        const text = row[column] as string | null;
        return text === null ? null : target.partOf(text, type);
      });
      if (before !== after) return target.changed;
    }
    return originOf(next[this.url]) === originOf(current[this.url]) ? null : ORIGIN_CHANGED;
  }

  /**
   * Returns the columns that a patch sets. Errors: 400 for members of `auth` that contradict each other, and for a missing
   * secret if the current one would be sent to a new target.
   *
   * @param patch the member of the body; null means the type `none`
   * @param url the URL after the patch
   * @param use the row of the secret
   */
  patched(
    row: Columns & Record<Url, string> & { auth_secret: string | null },
    patch: Partial<AuthInput<Type, Member>> | null | undefined,
    url: string,
    box: SecretBox,
    use: SecretUse,
  ): Partial<Columns> & { auth_secret?: string | null } {
    const none = { auth_secret: null };
    if (patch === null) return { ...this.columns({ type: 'none' } as AuthInput<Type, Member>), ...none };
    const auth = this.merged(row, patch ?? {});
    // An unknown type returns 422 after the other checks of the body.
    if (!this.types.includes(auth.type)) return {};
    const faults = this.faults(auth, '/auth');
    if (faults.length > 0) throw problem.invalidFields(faults);
    const next = this.columns(auth);
    const member = this.secretMember(auth.type);
    if (member === null) return { ...next, ...none };
    const secret = auth[member];
    if (secret != null) {
      return {
        ...next,
        ...(!box.isSame(row.auth_secret, secret, use) && { auth_secret: box.seal(secret, use) }),
      };
    }
    const changed = this.changedTarget(row, { ...next, [this.url]: url } as Columns & Record<Url, string>);
    if (
      secret === undefined &&
      (changed === null || (changed !== TYPE_CHANGED && row.auth_secret === null))
    ) {
      return next;
    }
    const detail =
      secret === null
        ? 'cannot be null for this type. To remove the secret, set the type to `none`.'
        : `\`${member}\` is required because ${changed}`;
    throw problem.invalidField(`/auth/${member}`, detail);
  }

  /** Merges a patch into `auth`. Keeps the current members only if the type does not change. */
  private merged(row: Columns, patch: Partial<AuthInput<Type, Member>>): AuthInput<Type, Member> {
    const type = (patch.type ?? row.auth_type) as Type;
    const members = this.entries.map(([member, { column }]) => {
      const current = column && type === row.auth_type ? row[column] : undefined;
      return [member, patch[member] === undefined ? current : patch[member]];
    });
    return { type, ...Object.fromEntries(members) } as AuthInput<Type, Member>;
  }
}

function memberFault<Type extends string>(
  { types, isRequired, fault }: AuthMember<Type, PropertyKey>,
  type: Type,
  text: string | null | undefined,
): string | null {
  const isOfType = types.includes(type);
  if (text == null) return isOfType && isRequired ? requiredFor(type) : null;
  if (isOfType) return fault(text, type);
  return `is allowed only if the type is ${either.format(types.map((one) => `\`${one}\``))}`;
}

const requiredFor = (type: string): string => `is required if the type is \`${type}\``;

/** Returns the fault of a bearer token, or null. */
export const bearerFault = (token: string): string | null =>
  /\s/.test(token) ? 'must not contain spaces. Send the token without `Bearer`' : fieldValueFault(token);

/** Returns changes for the audit log, with all changes of `auth` as one member without values. */
export function withoutAuth(changes: readonly AuditChange[]): AuditChange[] {
  const others = changes.filter(({ member }) => !member.startsWith('auth_'));
  return others.length === changes.length ? others : [...others, { member: 'auth' }];
}
