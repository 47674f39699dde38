import { Injectable } from '@nestjs/common';
import { SealedSecretError } from '#platform/secrets';
import type { ServerEntity, TARGET_FIELDS } from '../servers/server.entity';
import { ServerSecrets } from '../servers/server-secrets';
import { ServerFailure } from './server-failure';

/** A server to connect to. */
export type ConnectionTarget = Pick<
  ServerEntity,
  (typeof TARGET_FIELDS)[number] | 'server_id' | 'org_id' | 'workspace_id'
>;

/** The header that authenticates the service to a server, and the secret in it. */
export interface Credential {
  header: string;
  value: string;
  secret: string;
}

/** Creates the header that authenticates the service to a server. */
@Injectable()
export class ServerCredentials {
  constructor(private readonly secrets: ServerSecrets) {}

  /** Returns null for a server without a secret. Throws ServerFailure for a secret that cannot be decrypted. */
  of({ server_id, auth_type, auth_header, auth_secret }: ConnectionTarget): Credential | null {
    if (auth_secret === null || auth_type === 'none') return null;
    const secret = this.open(server_id, auth_secret);
    return auth_type === 'bearer'
      ? { header: 'Authorization', value: `Bearer ${secret}`, secret }
      : { header: auth_header!, value: secret, secret };
  }

  private open(serverId: string, sealed: string): string {
    try {
      return this.secrets.open(serverId, sealed);
    } catch (error) {
      if (!(error instanceof SealedSecretError)) throw error;
      throw new ServerFailure(
        'unauthorized',
        'The stored secret cannot be decrypted. Send it again in `auth`.',
      );
    }
  }
}
