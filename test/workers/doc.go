// Package workers tests what the workers of `engine = { temporal = ... }` promise (docs/guides/scaling.md), on a server
// of Temporal, a PostgreSQL database, and worker processes that are started, cut off, asked to end and killed. Nodes are
// folders, except that they have commands.
//
// What may go wrong is tested by name. TestTextEngine... is in package resources, with Terraform:
//
//	wrong address, namespace, TLS, API key          TestWorkerRefuses, TestTLSAndAPIKey, TestCompanionRefuses,
//	                                                TestTextEngineRefuses
//	wrong key, or that of another zone              TestRunRefused, TestWorkerRefuses
//	another version: of slipway, of the workflows   TestOtherBuild, TestRunRefused, TestRecordedHistories
//	   of a request, of an outcome                  TestOtherWireVersion
//	a worker of a zone that is of another version   TestOtherBuildOfAZone
//	zones without a worker, of a run and a refresh  TestZones, TestRefreshWithZonesWithoutAWorker
//	a worker killed in a session                    TestKilledInASession, TestKilledAlone
//	a worker cut off in a session, and coming back  TestCutOffInASession, TestFenced
//	who hosts a run killed                          TestTextEngineWorkerKilled
//	   cut off, or stopped, and coming back         TestHostComesBack
//	the database or the server restarted            TestDatabaseRestarts, TestServerRestarts
//	a clock that jumps, clocks that differ          TestClockJumps, TestOtherClock; journal TestFence
//	all of it at random                             TestTortureEngine
//
// Terraform and a run that is active, rules 4 and 5 of design.md 11:
//
//	what is wanted decides, not what is applied     engine TestDesired
//	a refresh looks at no node, and names the run   TestTextEngine, TestTextEngineDestroy
//	a refresh takes over how the run ended          TestTextEngine, TestTextEngineDestroy, TestCompanionHandsOver
//	the plan shows the steps of the run             TestTextEngine
//	the same apply waits, and takes it over         TestTextEngine, TestTextEngineInterrupted, TestCompanionHandsOver
//	another one is refused                          TestTextEngine, TestTextEngineDestroy, TestCompanionHandsOver
//	a creation without a state finds the run        TestTextEngineCreationKilled
//	a replacement and a destroy are refused         TestTextEngine, TestTextEngineDestroy
//	   but that of a tainted deployment waits       TestTextEngineInterrupted
//	   and keeps it when it is refused              resources TestTextOfAContinuationThatIsRefused
//	SIGINT, SIGTERM and timeouts stop the run       TestTextEngineInterrupted, TestTextEngineDestroyInterrupted
//	   unless detach says otherwise                 TestTextEngineInterrupted, TestTextEngineDestroyStopped
//	   or it cannot be stopped                      engine TestARunThatCannotBeStoppedIsActive
//	SIGKILL, SIGHUP and a closed pipe do not        TestTextEngine, TestTextEngineCreationKilled
package workers
