import { type DynamicModule, Module, type Type } from '@nestjs/common';
import { APP_GUARD } from '@nestjs/core';
import { Environment } from '#platform/config';
import { OverloadModule } from '#platform/overload';
import { AccountCache } from './account-cache';
import { AccountChangeListener, AccountChanges } from './account-changes';
import { AccountDirectory } from './account-directory';
import { Admission } from './admission';
import { AdmissionGuard } from './admission.guard';
import { Authenticator } from './authenticator';
import { BearerStrategy } from './bearer.strategy';
import { TokenVerifier } from './token-verifier';
import { TrustedIssuers } from './trusted-issuers';
import { WorkspaceScopes } from './workspace-scopes';

/** The cache of principals and workspaces and its invalidation, for modules that change accounts or use what is cached. */
@Module({
  providers: [AccountCache, AccountChanges, AccountChangeListener],
  exports: [AccountCache, AccountChanges],
})
export class AccountChangesModule {}

/** Admits every request: provides the `Admission`, the guard that calls it, and the `Authenticator`. */
@Module({})
export class AuthModule {
  /**
   * @param accounts the module that exports the `AccountDirectory`
   * @param names the module that exports the `PathNames`
   */
  static forRoot(accounts: Type, names: Type): DynamicModule {
    return {
      module: AuthModule,
      global: true,
      imports: [accounts, names, AccountChangesModule, OverloadModule],
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
        WorkspaceScopes,
        Admission,
        { provide: APP_GUARD, useClass: AdmissionGuard },
      ],
      exports: [Admission, Authenticator, TrustedIssuers, WorkspaceScopes],
    };
  }
}
