import { Injectable } from '@nestjs/common';
import type { Client } from 'pg';
import { sql, type Tx } from '#platform/db';

/** The PostgreSQL notification channel on which API processes announce changed accounts. */
export const ACCOUNTS_CHANNEL = 'accounts_changed';

/** Notifications of changed accounts. The payload is the organization's id; empty for platform principals. */
@Injectable()
export class AccountChangeRepository {
  /** Notifies all processes when the transaction commits. A rollback drops the notification. */
  async notify(tx: Tx, orgId: string): Promise<void> {
    await tx.query(sql`SELECT pg_notify(${ACCOUNTS_CHANNEL}, ${orgId})`);
  }

  /** Subscribes a connection to the notifications. */
  async listen(client: Client): Promise<void> {
    await client.query(`LISTEN ${ACCOUNTS_CHANNEL}`);
  }
}
