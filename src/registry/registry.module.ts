import { Module } from '@nestjs/common';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccountChangesModule, AccountDirectory } from '#platform/auth';
import { SecretsModule } from '#platform/secrets';
import { ResourcesModule } from '../resources';
import { AccountDirectoryRepository } from './accounts/account-directory.repository';
import { AccountDirectoryService } from './accounts/account-directory.service';
import { OrgEntity } from './accounts/org.entity';
import { OrganizationRepository } from './accounts/org.repository';
import { OrgService } from './accounts/org.service';
import { UserEntity } from './accounts/user.entity';
import { UserRepository } from './accounts/user.repository';
import { UserService } from './accounts/user.service';
import { PrincipalRepository } from './accounts/principal.repository';
import { RepoEntity } from './repos/repo.entity';
import { RepoRepository } from './repos/repo.repository';
import { RepoService } from './repos/repo.service';
import { ApiKeyEntity } from './accounts/api-key.entity';
import { ApiKeyRepository } from './accounts/api-key.repository';
import { ApiKeyService } from './accounts/api-key.service';
import { ApiKeySecrets } from './accounts/api-key-secret';
import { ServiceAccountEntity } from './accounts/service-account.entity';
import { ServiceAccountRepository } from './accounts/service-account.repository';
import { ServiceAccountService } from './accounts/service-account.service';
import { OrgSigningKeyEntity } from './signing-keys/org-signing-key.entity';
import { OrgSigningKeyRepository } from './signing-keys/org-signing-key.repository';
import { OrgSigningService } from './signing-keys/org-signing.service';
import { SigningKeyRepository } from './tokens/signing-key.repository';
import { SigningKeyService } from './tokens/signing-key.service';
import { MemberEntity } from './accounts/member.entity';
import { MemberRepository } from './accounts/member.repository';
import { MemberService } from './accounts/member.service';
import { WorkspaceEntity } from './accounts/workspace.entity';
import { WorkspacesRepository } from './accounts/workspace.repository';
import { WorkspaceService } from './accounts/workspace.service';

const SERVICES = [
  OrgService,
  UserService,
  WorkspaceService,
  MemberService,
  ServiceAccountService,
  ApiKeyService,
  ApiKeySecrets,
  SigningKeyService,
  OrgSigningService,
  RepoService,
];

const REPOSITORIES = [
  OrganizationRepository,
  UserRepository,
  WorkspacesRepository,
  MemberRepository,
  PrincipalRepository,
  ServiceAccountRepository,
  ApiKeyRepository,
  SigningKeyRepository,
  OrgSigningKeyRepository,
  AccountDirectoryRepository,
  RepoRepository,
];

/** Accounts and repositories, without routes, for the API and the worker. */
@Module({
  imports: [
    TypeOrmModule.forFeature([
      OrgEntity,
      UserEntity,
      WorkspaceEntity,
      MemberEntity,
      ServiceAccountEntity,
      ApiKeyEntity,
      OrgSigningKeyEntity,
      RepoEntity,
    ]),
    AccountChangesModule,
    SecretsModule,
    ResourcesModule,
  ],
  providers: [...SERVICES, ...REPOSITORIES, { provide: AccountDirectory, useClass: AccountDirectoryService }],
  exports: [...SERVICES, ...REPOSITORIES, AccountDirectory],
})
export class RegistryModule {}
