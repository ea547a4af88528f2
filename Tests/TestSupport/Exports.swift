// MediaGraph's tests use the testing product of users, plus the helpers of this target.
@_exported import MediaGraphTesting
