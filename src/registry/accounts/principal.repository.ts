import { Injectable } from '@nestjs/common';
import type { OrgScope } from '#platform/auth';
import type { SqlExecutor } from '#platform/db';
import type { ServiceAccountEntity } from './service-account.entity';
import { ServiceAccountRepository } from './service-account.repository';
import type { UserEntity } from './user.entity';
import { UserRepository } from './user.repository';

/** Returns the type of a principal. A `user_id` never begins with `sva_`. */
export const principalTypeOf = (principalId: string): 'user' | 'service_account' =>
  principalId.startsWith('sva_') ? 'service_account' : 'user';

/** Finds users and service accounts by their ids. */
@Injectable()
export class PrincipalRepository {
  constructor(
    private readonly users: UserRepository,
    private readonly serviceAccounts: ServiceAccountRepository,
  ) {}

  find(
    scope: OrgScope,
    principalId: string,
    on?: SqlExecutor,
  ): Promise<UserEntity | ServiceAccountEntity | null> {
    const accounts = principalTypeOf(principalId) === 'user' ? this.users : this.serviceAccounts;
    return accounts.find(scope, principalId, on);
  }
}
