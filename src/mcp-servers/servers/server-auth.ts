import { fieldNameFault, fieldValueFault, TRANSPORT_FIELD_FAULT, urlFault } from '#platform/outbound';
import {
  type AuditChange,
  type AuthInput,
  bearerFault,
  originOf,
  TargetAuth,
  withoutAuth,
} from '../../resources';
import { AUTH_TYPES, type AuthColumns, type AuthType, withoutQuery } from './server.entity';

type AuthMember = 'header' | 'value' | 'token_url' | 'client_id' | 'client_secret' | 'scope';

/** The `auth` of a request body, or of a server after a patch. */
export type GivenAuth = AuthInput<AuthType, AuthMember>;

/** Printable ASCII (`VSCHAR` of RFC 6749, appendix A), as required for client ids and secrets. */
const VSCHARS = /^[\x20-\x7e]+$/;
/** Scopes between single spaces (RFC 6749, section 3.3). */
const SCOPES = /^[\x21\x23-\x5b\x5d-\x7e]+(?: [\x21\x23-\x5b\x5d-\x7e]+)*$/;

const printableFault = (text: string): string | null =>
  VSCHARS.test(text) ? null : 'must be printable ASCII characters';

/** The `auth` of an MCP server. */
export const SERVER_AUTH = new TargetAuth<AuthColumns, 'url', AuthMember>(AUTH_TYPES, 'url', {
  header: {
    column: 'auth_header',
    types: ['header'],
    isRequired: true,
    fault: (name) => fieldNameFault(name) ?? (/^mcp-/i.test(name) ? TRANSPORT_FIELD_FAULT : null),
    target: {
      // The names of header fields are case-insensitive (RFC 9110, section 5.1).
      partOf: (name) => name.toLowerCase(),
      changed: 'the header changed. Secrets are never sent in a new header.',
    },
  },
  value: {
    types: ['bearer', 'header'],
    fault: (value, type) => (type === 'bearer' ? bearerFault(value) : fieldValueFault(value)),
  },
  token_url: {
    column: 'auth_token_url',
    types: ['oauth'],
    isRequired: true,
    fault: urlFault,
    target: {
      partOf: originOf,
      changed: "the token URL's origin changed. Secrets are never sent to a new origin.",
    },
  },
  client_id: {
    column: 'auth_client_id',
    types: ['oauth'],
    isRequired: true,
    fault: printableFault,
    target: {
      partOf: (id) => id,
      changed: 'the client id changed. Secrets are never sent for another client.',
    },
  },
  client_secret: { types: ['oauth'], fault: printableFault },
  scope: {
    column: 'auth_scope',
    types: ['oauth'],
    fault: (text) => (SCOPES.test(text) ? null : 'must be scopes separated by single spaces (RFC 6749)'),
  },
});

/** Removes secrets from audited changes: the query of URLs, and the values of `auth`. */
export function withoutSecrets(changes: readonly AuditChange[]): AuditChange[] {
  const others = changes
    .filter(({ member }) => member !== 'url_secrets')
    .map((change) => (change.member === 'url' ? withoutQueries(change) : change));
  const isQueryChanged = others.length < changes.length && others.every(({ member }) => member !== 'url');
  return withoutAuth(isQueryChanged ? [...others, { member: 'url' }] : others);
}

function withoutQueries({ member, before, after }: AuditChange): AuditChange {
  const [from, to] = [withoutQuery(before as string), withoutQuery(after as string)];
  return from === to ? { member } : { member, before: from, after: to };
}
