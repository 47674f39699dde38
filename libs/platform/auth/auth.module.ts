import { type CanActivate, type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { PassportModule } from '@nestjs/passport';
import { Environment } from '#platform/config';
import { AccountCache } from './account-cache';
import { AccountChangeListener } from './account-change.listener';
import { AccountChangeRepository } from './account-change.repository';
import { AccountChanges } from './account-changes';
import { AccountDirectory } from './account-directory';
import { Authenticator } from './authenticator';
import { BearerGuard } from './bearer.guard';
import { BearerStrategy } from './bearer.strategy';
import { PrincipalReader } from './principal-reader';
import { RoleGuard } from './role.guard';
import { TokenVerifier } from './token-verifier';
import { TrustedIssuers } from './trusted-issuers';
import { WorkspaceGuard } from './workspace.guard';
import { WorkspaceScopes } from './workspace-scopes';

/** The cache of principals and workspaces and its invalidation, for modules that change accounts. */
@Module({
  providers: [AccountCache, AccountChangeRepository, AccountChanges],
  exports: [AccountCache, AccountChangeRepository, AccountChanges],
})
export class AccountChangesModule {}

/**
 * Authenticates every request. Provides the `Authenticator` and the guards, in this order: the account (401, 403), the
 * guards for a known caller (429), the workspace header, the role. Guards of other modules run before or after all of
 * them, in the order of the modules.
 */
@Module({})
export class AuthModule {
  /**
   * @param accounts the module that exports the `AccountDirectory`
   * @param callerGuards run as soon as the caller is known; their dependencies come from global modules
   */
  static withAccounts(accounts: Type, callerGuards: readonly Type<CanActivate>[] = []): DynamicModule {
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
        WorkspaceScopes,
        PrincipalReader,
        { provide: APP_GUARD, useClass: BearerGuard },
        ...callerGuards.map((guard) => ({ provide: APP_GUARD, useClass: guard })),
        { provide: APP_GUARD, useClass: WorkspaceGuard },
        { provide: APP_GUARD, useClass: RoleGuard },
      ],
      exports: [Authenticator, PrincipalReader, TrustedIssuers, WorkspaceScopes],
    };
  }
}
