import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { Environment } from '#platform/config';
import { AccountChangeListener } from './account-change.listener';
import { AccountChanges } from './account-changes';
import { AccountDirectory } from './account-directory';
import { Authenticator } from './authenticator';
import { BearerGuard } from './bearer.guard';
import { BearerStrategy } from './bearer.strategy';
import { PrincipalCache } from './principal-cache';
import { RoleGuard } from './role.guard';
import { TokenVerifier } from './token-verifier';
import { TrustedIssuers } from './trusted-issuers';
import { WorkspaceCache } from './workspace-cache';
import { WorkspaceGuard } from './workspace.guard';

/** What is remembered of principals and workspaces, and how it is forgotten: for those who change accounts. */
@Module({
  providers: [PrincipalCache, WorkspaceCache, AccountChanges],
  exports: [PrincipalCache, WorkspaceCache, AccountChanges],
})
export class AccountChangesModule {}

/**
 * Authentication of every request: the guards, in their order (401 and 403 of the account, then the workspace
 * header, then the role), and the `Authenticator`. Guards of other modules run before or after all of these, by the
 * order of the modules.
 */
@Module({})
export class AuthModule {
  /** @param accounts the module that exports the `AccountDirectory`. */
  static withAccounts(accounts: Type): DynamicModule {
    return {
      module: AuthModule,
      global: true,
      imports: [accounts, AccountChangesModule, PassportModule],
      providers: [
        {
          provide: TrustedIssuers,
          inject: [Environment, AccountDirectory],
          useFactory: (environment: Environment, directory: AccountDirectory) =>
            TrustedIssuers.read(environment, directory),
        },
        TokenVerifier,
        Authenticator,
        BearerStrategy,
        AccountChangeListener,
        { provide: APP_GUARD, useClass: BearerGuard },
        { provide: APP_GUARD, useClass: WorkspaceGuard },
        { provide: APP_GUARD, useClass: RoleGuard },
      ],
      exports: [Authenticator],
    };
  }
}
